#pragma once
/* What Swift's Glibc module leaves out: Linux-only headers, and GNU extensions (that module is built without _GNU_SOURCE,
   and defining it here would change the types of connect and bind). Prototypes of the latter are written out by hand. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern int pipe2(int *_Nonnull ends, int flags);
extern int accept4(int socket, void *_Nullable address, socklen_t *_Nullable length, int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *_Nonnull actions, int from);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *_Nonnull actions, const char *_Nonnull path);
extern int pthread_setname_np(pthread_t thread, const char *_Nonnull name);
extern int posix_openpt(int flags);
extern int unlockpt(int terminal);
extern int ptsname_r(int terminal, char *_Nonnull name, size_t length);

/* pthread_t belongs to whichever C module named it first; an integer does not. */
static inline int shim_thread_start(
    uintptr_t *_Nonnull thread, const char *_Nonnull name, size_t stack,
    void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nullable argument) {
    pthread_attr_t attributes;
    pthread_t started;
    pthread_attr_init(&attributes);
    if (stack) pthread_attr_setstacksize(&attributes, stack);
    int result = pthread_create(&started, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    if (result == 0) {
        pthread_setname_np(started, name);
        *thread = (uintptr_t)started;
    }
    return result;
}
static inline int shim_thread_join(uintptr_t thread) { return pthread_join((pthread_t)thread, (void **)0); }
static inline int shim_thread_detach(uintptr_t thread) { return pthread_detach((pthread_t)thread); }
static inline uintptr_t shim_thread_self(void) { return (uintptr_t)pthread_self(); }
/* CRC-32C is one instruction where the processor has it; 0 says that it has not. */
#if defined(__x86_64__)
#include <cpuid.h>
static inline int shim_has_crc32c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}
__attribute__((target("sse4.2"))) static inline uint32_t shim_crc32c(
    uint32_t state, const void *_Nonnull bytes, size_t count) {
    const unsigned char *next = bytes;
    uint64_t wide = state;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    state = (uint32_t)wide;
    for (; count; count--, next++) state = __builtin_ia32_crc32qi(state, *next);
    return state;
}
#else
static inline int shim_has_crc32c(void) { return 0; }
static inline uint32_t shim_crc32c(uint32_t state, const void *_Nonnull bytes, size_t count) { return state; }
#endif
/* So does struct timespec. */
static inline uint64_t shim_nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
/* Variadic. */
static inline int shim_set_dumpable(int value) { return prctl(PR_SET_DUMPABLE, value, 0, 0, 0); }
/* epoll_data is a union; only its 64-bit member is used here. */
static inline struct epoll_event shim_epoll_event(uint32_t events, uint64_t data) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = data;
    return event;
}
static inline uint64_t shim_epoll_data(const struct epoll_event *_Nonnull event) { return event->data.u64; }
/* Function-like macros. */
static inline int shim_exited(int status) { return WIFEXITED(status); }
static inline int shim_exit_status(int status) { return WEXITSTATUS(status); }
static inline int shim_term_signal(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
static inline int shim_is_regular(mode_t mode) { return S_ISREG(mode); }
static inline int shim_is_directory(mode_t mode) { return S_ISDIR(mode); }
static inline int shim_is_socket(mode_t mode) { return S_ISSOCK(mode); }
/* A message with the descriptor that came along, or -1: control messages are laid out by macros. */
static inline ssize_t shim_receive(int socket, void *_Nonnull bytes, size_t size, int *_Nonnull descriptor) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control;
    struct iovec part = {bytes, size};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control.bytes;
    *descriptor = -1;
    ssize_t count = recvmsg(socket, &message, 0x40000000 /* MSG_CMSG_CLOEXEC */);
    struct cmsghdr *header = count < 0 ? (struct cmsghdr *)0 : CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    return count;
}
/* A child in a session of its own, with default signals, `output` as standard output and error, and nothing else open.
   Returns 0 or an errno. POSIX_SPAWN_SETSID is a GNU constant. */
static inline int shim_spawn(
    pid_t *_Nonnull child, const char *_Nonnull program, char *_Nullable const *_Nonnull arguments,
    char *_Nullable const *_Nonnull environment, const char *_Nullable directory, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (directory) posix_spawn_file_actions_addchdir_np(&actions, directory);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, 0x80 | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int result = posix_spawnp(child, program, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return result;
}
