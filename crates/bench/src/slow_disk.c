/* Preloaded into a server, this makes every wait for the disk take 1 ms, and nothing else: the data
 * is not synchronised, so that the real disk plays no part in the figures. */
#include <time.h>

static int one_millisecond(void) {
    struct timespec left = {0, 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
    return 0;
}

int fsync(int file) {
    (void)file;
    return one_millisecond();
}

int fdatasync(int file) {
    (void)file;
    return one_millisecond();
}
