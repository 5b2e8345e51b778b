#pragma once
#include <sys/types.h>
#include <sys/socket.h>
#include <microhttpd.h>

/* Variadic calls, wrapped. The daemon has no thread: whoever starts it polls its epoll descriptor and calls MHD_run. */
static inline struct MHD_Daemon *_Nullable shim_mhd_start(
    int listener, unsigned int connections, size_t memory, unsigned int timeout,
    MHD_AccessHandlerCallback _Nonnull access, MHD_RequestCompletedCallback _Nonnull completed, void *_Nonnull context) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_UPGRADE | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, access, context,
        MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_CONNECTION_TIMEOUT, timeout,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_END);
}
static inline int shim_mhd_poller(struct MHD_Daemon *_Nonnull daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}
static inline int shim_mhd_close_upgraded(struct MHD_UpgradeResponseHandle *_Nonnull handle) {
    return MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE) == MHD_YES;
}
static inline unsigned int shim_mhd_connections(struct MHD_Daemon *_Nonnull daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}
