/* The function that writes dates the way a format says.
 *
 * A format is read in runs of the same letter; what no run means stands for itself, and so does whatever
 * follows a backslash. Names of months and days are English.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/moment.h"

static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };
static const char *const weekdays[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday" };

struct writing {
    struct buffer *out;
    int64_t moment;
    struct moment_fields fields;
};

/* One letter: the number alone; more: with zeros in front up to two digits. */
static void write_number(struct writing *w, int64_t number, size_t run)
{
    buffer_append_format(w->out, "%0*d", run > 1 ? 2 : 1, (int)number);
}

/* Three letters: the first three of the name; more: all of it. */
static void write_name(struct writing *w, const char *name, size_t run)
{
    buffer_append(w->out, bytes_of(name, run == 3 ? 3 : strlen(name)));
}

static void write_year(struct writing *w, size_t run)
{
    int64_t year = w->fields.year;

    if (run <= 2)
        write_number(w, year % 100, run);
    else
        buffer_append_format(w->out, "%0*d", run < 9 ? (int)run : 9, (int)year);
}

/* As many digits as letters; zeros at the end may be left out. */
static bool write_fraction(struct writing *w, size_t run, bool is_short)
{
    int64_t ticks = w->fields.ticks;

    if (run > 7)
        return false;
    for (size_t i = run; i < 7; i++)
        ticks /= 10;
    while (is_short && run > 0 && ticks % 10 == 0) {
        ticks /= 10;
        run--;
    }
    if (run > 0)
        buffer_append_format(w->out, "%0*d", (int)run, (int)ticks);
    return true;
}

/* A run that means something; false if the letter stands for itself, or the run is too long. */
static bool write_run(struct writing *w, uint8_t letter, size_t run)
{
    const struct moment_fields *f = &w->fields;

    switch (letter) {
    case 'y':
        write_year(w, run);
        return true;
    case 'M':
        if (run > 2)
            write_name(w, months[f->month - 1], run);
        else
            write_number(w, f->month, run);
        return true;
    case 'd':
        if (run > 2)
            write_name(w, weekdays[moment_weekday(w->moment)], run);
        else
            write_number(w, f->day, run);
        return true;
    case 'H':
        write_number(w, f->hour, run);
        return true;
    case 'h':
        write_number(w, (f->hour + 11) % 12 + 1, run);
        return true;
    case 'm':
        write_number(w, f->minute, run);
        return true;
    case 's':
        write_number(w, f->second, run);
        return true;
    case 't':
        buffer_append(w->out, bytes_of(f->hour < 12 ? "AM" : "PM", run > 1 ? 2 : 1));
        return true;
    case 'f':
    case 'F':
        return write_fraction(w, run, letter == 'F');
    default:
        return false;
    }
}

static size_t run_of(bytes format)
{
    size_t run = 1;

    while (run < format.len && format.data[run] == format.data[0])
        run++;
    return run;
}

/* False if it is no format: a fraction of more than seven digits, a backslash at the end. */
static bool write_all(struct writing *w, bytes format)
{
    static const char letters[] = "yMdHhmstfF";

    while (format.len) {
        uint8_t letter = format.data[0];
        size_t run = run_of(format);
        if (letter == '\\') {
            if (format.len == 1)
                return false;
            buffer_append_byte(w->out, format.data[1]);
            run = 2;
        } else if (letter == 0 || !strchr(letters, letter)) {
            buffer_append(w->out, bytes_of(format.data, run));
        } else if (!write_run(w, letter, run)) {
            return false;
        }
        format = bytes_from(format, run);
    }
    return true;
}

status function_time_format(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct buffer text = buffer_in(e->arena);
    struct writing w = { .out = &text };
    struct value v[2];
    bytes written;

    TRY(call_take(e, call, v, 2));
    if (!value_is_text(v[0]) || !value_is_text(v[1]) || !moment_parse(value_text(v[0]), &w.moment))
        return STATUS_OK;
    w.fields = moment_split(w.moment);
    if (!write_all(&w, value_text(v[1])))
        return STATUS_OK;
    TRY(buffer_finish(&text, &written));
    return call_give_text(e, written, out);
}
