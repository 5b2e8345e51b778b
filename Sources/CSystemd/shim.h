#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

extern int memfd_create(const char *_Nonnull name, unsigned flags);

/* A file in memory that can be sealed; its constants are GNU extensions. */
static inline int shim_memory_file(const char *_Nonnull name) {
    return memfd_create(name, 3u /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
}
/* Variadic. Nobody can change the file from here on. */
static inline int shim_seal(int file) {
    return fcntl(file, 1033 /* F_ADD_SEALS */, 15 /* F_SEAL_SEAL | SHRINK | GROW | WRITE */);
}
/* Sends a descriptor and nothing else: control messages are laid out by macros. */
static inline ssize_t shim_send_descriptor(int socket, int descriptor) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control;
    struct msghdr message;
    memset(&control, 0, sizeof control);
    memset(&message, 0, sizeof message);
    message.msg_control = &control;
    message.msg_controllen = sizeof control.bytes;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}
