/* The main function of every test binary: unit and each of the model tests.
 *
 *     unit [-v] [-l] [-p n/count] [text]
 *
 * runs the tests whose "room name" contains text; -v prints a line per test with its time, -l only lists them, -p runs
 * only the n-th of `count` parts (from 1), so that several processes share the work.
 * The last line is always `N passed, N failed`; the exit code is 1 if a test failed or none ran. */
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *filter = NULL;
    struct check_part part = { 1, 1 };
    bool is_verbose = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            is_verbose = true;
        } else if (strcmp(argv[i], "-l") == 0) {
            check_list();
            return EXIT_SUCCESS;
        } else if (strcmp(argv[i], "-p") == 0 && i + 1 < argc) {
            if (sscanf(argv[++i], "%zu/%zu", &part.number, &part.count) != 2 || part.number < 1 ||
                part.number > part.count) {
                fprintf(stderr, "-p takes n/count, for example 1/2, not %s\n", argv[i]);
                return EXIT_FAILURE;
            }
        } else {
            filter = argv[i];
        }
    }

    const struct check_counts counts = check_run(filter, part, is_verbose);
    if (counts.passed + counts.failed == 0)
        fprintf(stderr, "no test matches%s%s\n", filter != NULL ? " " : "",
                filter != NULL ? filter : "");
    printf("%zu passed, %zu failed\n", counts.passed, counts.failed);
    return counts.failed == 0 && counts.passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
