/* Makes calls on some files fail: preloaded into the bridge by a test.
 *
 * The file that FAULTS names holds "CALL ERRNO ENDING": while it is there, CALL (write or sync) on files whose path ends
 * so fails with that number.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(const char *call, int descriptor) {
    const char *name = getenv("FAULTS");
    FILE *file = name ? fopen(name, "re") : NULL;
    if (!file) return 0;
    char wanted[16], ending[64], link[64], path[4096];
    int number = 0;
    int count = fscanf(file, "%15s %d %63s", wanted, &number, ending);
    fclose(file);
    if (count != 3 || strcmp(call, wanted) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < (ssize_t)strlen(ending)) return 0;
    path[length] = 0;
    if (strcmp(path + length - strlen(ending), ending) != 0) return 0;
    errno = number;
    return 1;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    if (fails("write", descriptor)) return -1;
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    return real(descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite64(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (fails("write", descriptor)) return -1;
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return real(descriptor, bytes, count);
}

int fdatasync(int descriptor) {
    if (fails("sync", descriptor)) return -1;
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    return real(descriptor);
}

int fsync(int descriptor) {
    if (fails("sync", descriptor)) return -1;
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    return real(descriptor);
}
