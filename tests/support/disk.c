/* Preloaded into a server, this library lets a test make the disk hang or fail, and notes which files are
 * opened and synchronized.
 *
 * TEST_DISK names a folder.
 * - While the folder has a file `hang`, each read of a file called `petstore.db` writes a line to `reads` there,
 *   and waits until `hang` is gone.
 * - Each fsync and fdatasync first writes its name and the path to `syncs`.
 * - Each opening of a file called `petstore.db` writes a line to `opens`, unless `fail-open` makes it fail.
 * - While the folder has a file `fail-write`, `fail-sync` or `fail-open`, which holds a number of errno(3),
 *   each write, synchronization or opening of a file whose name begins with `petstore.db` fails with that
 *   error. A truncation is a write. `fail-open` concerns only files that are opened for writing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STORE "/petstore.db"
#define REAL(name, type) \
    static type real; \
    if (!real) real = (type)dlsym(RTLD_NEXT, name)

typedef ssize_t (*read_type)(int, void *, size_t);
typedef ssize_t (*pread_type)(int, void *, size_t, off64_t);
typedef ssize_t (*write_type)(int, const void *, size_t);
typedef ssize_t (*pwrite_type)(int, const void *, size_t, off64_t);
typedef int (*truncate_type)(int, off64_t);
typedef int (*sync_type)(int);
typedef int (*open_type)(const char *, int, ...);

static void within(char *path, const char *name) {
    const char *folder = getenv("TEST_DISK");
    snprintf(path, PATH_MAX, "%s/%s", folder ? folder : "/nowhere", name);
}

/* Makes the system call directly, so that this library does not intercept it. */
static int open_within(const char *name, int flags) {
    char path[PATH_MAX];
    within(path, name);
    return syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static void note(const char *name, const char *line) {
    int before = errno;
    int file = open_within(name, O_WRONLY | O_CREAT | O_APPEND);
    if (file >= 0) {
        if (syscall(SYS_write, file, line, strlen(line)) < 0) abort();
        close(file);
    }
    errno = before;
}

static void path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

static int is_store(const char *path) {
    const char *name = strrchr(path, '/');
    return name && !strcmp(name, STORE);
}

/* Returns 1 and sets errno if the operation must fail. */
static int path_fails(const char *fault, const char *path) {
    int before = errno;
    int file = open_within(fault, O_RDONLY);
    errno = before;
    if (file < 0) return 0;
    char text[16] = {0};
    ssize_t length = syscall(SYS_read, file, text, sizeof text - 1);
    close(file);
    const char *name = strrchr(path, '/');
    errno = before;
    if (length <= 0 || !name || strncmp(name, STORE, strlen(STORE))) return 0;
    errno = atoi(text);
    return 1;
}

static int fails(const char *fault, int file) {
    char path[PATH_MAX];
    int before = errno;
    path_of(file, path);
    errno = before;
    return path_fails(fault, path);
}

static void wait_while_it_hangs(int file) {
    char hang[PATH_MAX], path[PATH_MAX];
    int before = errno;
    within(hang, "hang");
    if (access(hang, F_OK) == 0) {
        path_of(file, path);
        if (is_store(path)) {
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
    REAL("read", read_type);
    wait_while_it_hangs(file);
    return real(file, buffer, length);
}

ssize_t pread(int file, void *buffer, size_t length, off_t at) {
    REAL("pread", pread_type);
    wait_while_it_hangs(file);
    return real(file, buffer, length, at);
}

ssize_t pread64(int file, void *buffer, size_t length, off64_t at) {
    REAL("pread64", pread_type);
    wait_while_it_hangs(file);
    return real(file, buffer, length, at);
}

ssize_t write(int file, const void *data, size_t length) {
    REAL("write", write_type);
    return fails("fail-write", file) ? -1 : real(file, data, length);
}

ssize_t pwrite(int file, const void *data, size_t length, off_t at) {
    REAL("pwrite", pwrite_type);
    return fails("fail-write", file) ? -1 : real(file, data, length, at);
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t at) {
    REAL("pwrite64", pwrite_type);
    return fails("fail-write", file) ? -1 : real(file, data, length, at);
}

int ftruncate(int file, off_t length) {
    REAL("ftruncate", truncate_type);
    return fails("fail-write", file) ? -1 : real(file, length);
}

int ftruncate64(int file, off64_t length) {
    REAL("ftruncate64", truncate_type);
    return fails("fail-write", file) ? -1 : real(file, length);
}

static int sync_file(const char *name, sync_type real, int file) {
    char path[PATH_MAX], line[PATH_MAX + 32];
    int before = errno;
    path_of(file, path);
    snprintf(line, sizeof line, "%s %s\n", name, path);
    note("syncs", line);
    errno = before;
    return path_fails("fail-sync", path) ? -1 : real(file);
}

int fsync(int file) {
    REAL("fsync", sync_type);
    return sync_file("fsync", real, file);
}

int fdatasync(int file) {
    REAL("fdatasync", sync_type);
    return sync_file("fdatasync", real, file);
}

static int open_file(open_type real, const char *path, int flags, int mode) {
    if ((flags & O_ACCMODE) != O_RDONLY && path_fails("fail-open", path)) return -1;
    if (is_store(path)) note("opens", "open\n");
    return real(path, flags, mode);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list arguments; \
        va_start(arguments, flags); \
        int mode = va_arg(arguments, int); \
        va_end(arguments); \
        REAL(#name, open_type); \
        return open_file(real, path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
