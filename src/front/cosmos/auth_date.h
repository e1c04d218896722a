/* Dates of requests, as RFC 1123 has them: "Fri, 06 Nov 2026 10:00:00 GMT". */
#ifndef FRONT_COSMOS_AUTH_DATE_H
#define FRONT_COSMOS_AUTH_DATE_H

#include "base/base.h"

enum { AUTH_DATE_BYTES = 29 };

/* Exactly this form, letters in either case, the right day of the week; false otherwise. */
bool auth_date_parse(bytes text, time_ms *out);
/* With a NUL behind it. Years 0 to 9999. */
void auth_date_format(time_ms time, char out[AUTH_DATE_BYTES + 1]);

#endif
