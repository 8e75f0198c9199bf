/* Preloaded into a server, this lets a test make the disk hang, and notes what is synchronised.
 *
 * PETSTORE_TEST_DISK names a folder. While it has a file `hang`, each read of a file called
 * `petstore.db` writes a line to `reads` there, and waits until `hang` is gone. Each fsync and fdatasync
 * writes its name and the path to `syncs`, and is then done as usual. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void within(char *path, const char *name) {
    const char *folder = getenv("PETSTORE_TEST_DISK");
    snprintf(path, PATH_MAX, "%s/%s", folder ? folder : "/nowhere", name);
}

static void note(const char *name, const char *line) {
    char path[PATH_MAX];
    within(path, name);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0) {
        if (write(file, line, strlen(line)) < 0) {
            abort();
        }
        close(file);
    }
}

static void path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

static void wait_while_it_hangs(int file) {
    char hang[PATH_MAX], path[PATH_MAX];
    int before = errno;
    within(hang, "hang");
    if (access(hang, F_OK) == 0) {
        path_of(file, path);
        const char *name = strrchr(path, '/');
        if (name != NULL && strcmp(name, "/petstore.db") == 0) {
            note("reads", "read\n");
            while (access(hang, F_OK) == 0) {
                struct timespec interval = {0, 2000000};
                nanosleep(&interval, NULL);
            }
        }
    }
    errno = before;
}

ssize_t read(int file, void *buffer, size_t length) {
    static ssize_t (*next)(int, void *, size_t);
    if (next == NULL) {
        next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    }
    wait_while_it_hangs(file);
    return next(file, buffer, length);
}

ssize_t pread(int file, void *buffer, size_t length, off_t at) {
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (next == NULL) {
        next = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    }
    wait_while_it_hangs(file);
    return next(file, buffer, length, at);
}

ssize_t pread64(int file, void *buffer, size_t length, off64_t at) {
    static ssize_t (*next)(int, void *, size_t, off64_t);
    if (next == NULL) {
        next = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    }
    wait_while_it_hangs(file);
    return next(file, buffer, length, at);
}

static void note_sync(const char *name, int file) {
    char path[PATH_MAX], line[PATH_MAX + 32];
    int before = errno;
    path_of(file, path);
    snprintf(line, sizeof line, "%s %s\n", name, path);
    note("syncs", line);
    errno = before;
}

int fsync(int file) {
    static int (*next)(int);
    if (next == NULL) {
        next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    }
    note_sync("fsync", file);
    return next(file);
}

int fdatasync(int file) {
    static int (*next)(int);
    if (next == NULL) {
        next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    }
    note_sync("fdatasync", file);
    return next(file);
}
