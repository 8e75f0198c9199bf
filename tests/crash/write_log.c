/* Preloaded into a server, this library logs every change that SQLite makes to a file in the folder
 * WRITE_LOG_FOLDER. It appends them to the file WRITE_LOG in the order in which they were made, and alters none.
 *
 * A record: the kind (1 byte), a number (8 bytes), the lengths of the path and of the data (4 bytes
 * each), the path, the data. The number of a write is its offset, of a truncation the new length, of a
 * synchronization the number of records when it began, because it covers no later record. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t records;
static int log_file = -1;

static void record(char kind, uint64_t number, const char *path, const void *data, uint32_t length) {
    uint32_t path_length = strlen(path);
    size_t size = 1 + 8 + 4 + 4 + path_length + (size_t)length;
    char *text = malloc(size), *next = text;
    if (!text) abort();
    *next++ = kind;
    memcpy(next, &number, 8), next += 8;
    memcpy(next, &path_length, 4), next += 4;
    memcpy(next, &length, 4), next += 4;
    memcpy(next, path, path_length), next += path_length;
    if (length) memcpy(next, data, length);
    if (log_file < 0) log_file = open(getenv("WRITE_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (syscall(SYS_write, log_file, text, size) != (ssize_t)size) abort();
    free(text);
    records++;
}

static int is_logged(const char *path) {
    const char *folder = getenv("WRITE_LOG_FOLDER");
    size_t length = strlen(path);
    /* The index in shared memory (-shm) is not logged, because SQLite rebuilds it after a crash. */
    return folder && !strncmp(path, folder, strlen(folder)) && (length < 4 || strcmp(path + length - 4, "-shm"));
}

static int path_of(int file, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_logged(path);
}

#define REAL(name, type) \
    static type real; \
    if (!real) real = (type)dlsym(RTLD_NEXT, name)

typedef ssize_t (*pwrite_type)(int, const void *, size_t, off64_t);
typedef int (*truncate_type)(int, off64_t);
typedef int (*sync_type)(int);

static ssize_t write_at(pwrite_type real, int file, const void *data, size_t length, off64_t offset) {
    char path[PATH_MAX];
    if (!path_of(file, path)) return real(file, data, length, offset);
    pthread_mutex_lock(&lock);
    ssize_t written = real(file, data, length, offset);
    if (written > 0) record('w', offset, path, data, written);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite(int file, const void *data, size_t length, off_t offset) {
    REAL("pwrite", pwrite_type);
    return write_at(real, file, data, length, offset);
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t offset) {
    REAL("pwrite64", pwrite_type);
    return write_at(real, file, data, length, offset);
}

static int truncate_to(truncate_type real, int file, off64_t length) {
    char path[PATH_MAX];
    if (!path_of(file, path)) return real(file, length);
    pthread_mutex_lock(&lock);
    int failed = real(file, length);
    if (!failed) record('t', length, path, NULL, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int ftruncate(int file, off_t length) {
    REAL("ftruncate", truncate_type);
    return truncate_to(real, file, length);
}

int ftruncate64(int file, off64_t length) {
    REAL("ftruncate64", truncate_type);
    return truncate_to(real, file, length);
}

static int sync_file(sync_type real, int file) {
    char path[PATH_MAX];
    if (!path_of(file, path)) return real(file);
    pthread_mutex_lock(&lock);
    uint64_t began = records;
    pthread_mutex_unlock(&lock);
    int failed = real(file);
    pthread_mutex_lock(&lock);
    if (!failed) record('s', began, path, NULL, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int fsync(int file) {
    REAL("fsync", sync_type);
    return sync_file(real, file);
}

int fdatasync(int file) {
    REAL("fdatasync", sync_type);
    return sync_file(real, file);
}

int unlink(const char *path) {
    typedef int (*unlink_type)(const char *);
    REAL("unlink", unlink_type);
    if (!is_logged(path)) return real(path);
    pthread_mutex_lock(&lock);
    int failed = real(path);
    if (!failed) record('u', 0, path, NULL, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}
