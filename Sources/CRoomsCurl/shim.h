#pragma once
#include <curl/curl.h>

/* Swift cannot call variadic functions: one typed wrapper for each kind of argument. */
static inline CURLcode shim_setopt_long(CURL *_Nonnull easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode shim_setopt_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode shim_setopt_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode shim_setopt_list(CURL *_Nonnull easy, CURLoption option, struct curl_slist *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode shim_setopt_blob(
    CURL *_Nonnull easy, CURLoption option, const void *_Nonnull bytes, size_t count
) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}
/* libcurl has kept what it read of a CA file since 7.87. */
static inline void shim_forget_authorities(CURL *_Nonnull easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
#else
    (void)easy;
#endif
}
static inline CURLcode shim_setopt_write(CURL *_Nonnull easy, curl_write_callback _Nullable function) {
    return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, function);
}
static inline CURLcode shim_setopt_header(CURL *_Nonnull easy, curl_write_callback _Nullable function) {
    return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, function);
}
static inline CURLcode shim_setopt_opensocket(CURL *_Nonnull easy, curl_opensocket_callback _Nullable function) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}
static inline CURLcode shim_setopt_closesocket(CURL *_Nonnull easy, curl_closesocket_callback _Nullable function) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}
static inline CURLcode shim_getinfo_socket(CURL *_Nonnull easy, curl_socket_t *_Nonnull value) {
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, value);
}
static inline CURLcode shim_getinfo_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode shim_getinfo_string(CURL *_Nonnull easy, CURLINFO info, char *_Nullable *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLMcode shim_multi_setopt_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode shim_multi_setopt_pointer(CURLM *_Nonnull multi, CURLMoption option, void *_Nullable value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode shim_multi_setopt_socket(CURLM *_Nonnull multi, curl_socket_callback _Nullable function) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}
static inline CURLMcode shim_multi_setopt_timer(CURLM *_Nonnull multi, curl_multi_timer_callback _Nullable function) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}
/* A macro of long arithmetic. */
static inline CURLcode shim_global_init(void) { return curl_global_init(CURL_GLOBAL_ALL); }
/* CURLMsg holds its result in a union that Swift does not import conveniently. */
static inline CURLcode shim_message_result(const CURLMsg *_Nonnull message) { return message->data.result; }
