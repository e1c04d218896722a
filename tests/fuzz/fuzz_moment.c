/* Fuzz dates: any text is refused, or is a moment in range that reads back from its own text.
 *
 * What is accepted is also counted on by each part, which has to be undone by counting back unless a month
 * was too short for the day. */
#include "query/moment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_on(int64_t moment, int64_t count)
{
    for (enum moment_part part = PART_DAY; part <= PART_MICROSECOND; part++) {
        int64_t later, back;
        if (!moment_add(moment, part, count, &later))
            continue;
        ASSERT(moment_is_in_range(later));
        ASSERT(moment_add(later, part, -count, &back));
        ASSERT(back == moment);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MOMENT_TEXT_BYTES + 1];
    enum moment_part part;
    int64_t moment, back;

    moment_part_find(bytes_of(data, size), &part);
    if (!moment_parse(bytes_of(data, size), &moment))
        return 0;
    ASSERT(moment_is_in_range(moment));
    moment_format(moment, text);
    ASSERT(moment_parse(bytes_of(text, MOMENT_TEXT_BYTES), &back));
    ASSERT(back == moment);
    count_on(moment, (int64_t)(size ? data[size - 1] : 0) * 1000003);
    return 0;
}
