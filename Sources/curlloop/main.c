/* The bare libcurl-multi loop that `roombench` compares with: it posts the same prepared body over and over, unsigned,
   with four fixed headers, and keeps nothing. What a bridge costs beyond this is its own doing.

   curlloop URL UNIX_SOCKET|- REQUESTS CONCURRENCY BODY_BYTES
   prints one JSON line: {"requests":n,"seconds":s,"cpu_us":us} */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static size_t discard(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_microseconds(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: curlloop URL UNIX_SOCKET|- REQUESTS CONCURRENCY BODY_BYTES\n");
        return 64;
    }
    long requests = atol(argv[3]), body_bytes = atol(argv[5]);
    int concurrency = atoi(argv[4]);
    char *body = malloc((size_t)body_bytes + 1);
    if (requests < 1 || concurrency < 1 || body_bytes < 2 || body == NULL) return 64;
    memset(body, 'x', (size_t)body_bytes);
    body[0] = body[body_bytes - 1] = '"';

    struct curl_slist *headers = NULL;
    headers = curl_slist_append(headers, "content-type: application/json");
    headers = curl_slist_append(headers, "webhook-id: rb_benchmark");
    headers = curl_slist_append(headers, "webhook-timestamp: 1700000000");
    headers = curl_slist_append(headers, "user-agent: curlloop");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)concurrency);

    long started = 0, done = 0, failed = 0;
    for (int slot = 0; slot < concurrency && started < requests; slot++, started++) {
        CURL *easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_URL, argv[1]);
        if (strcmp(argv[2], "-") != 0) curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, argv[2]);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_bytes);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_multi_add_handle(multi, easy);
    }
    double begin = now(), cpu = cpu_microseconds();
    while (done < requests) {
        int running = 0, left = 0;
        curl_multi_perform(multi, &running);
        CURLMsg *message;
        while ((message = curl_multi_info_read(multi, &left)) != NULL) {
            if (message->msg != CURLMSG_DONE) continue;
            long status = 0;
            CURL *easy = message->easy_handle;
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            if (message->data.result != CURLE_OK || status / 100 != 2) failed++;
            done++;
            curl_multi_remove_handle(multi, easy);
            if (started < requests) {
                started++;
                curl_multi_add_handle(multi, easy);
            } else {
                curl_easy_cleanup(easy);
            }
        }
        if (done < requests) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    printf("{\"requests\":%ld,\"failed\":%ld,\"seconds\":%.6f,\"cpu_us\":%.0f}\n", requests, failed, now() - begin, cpu_microseconds() - cpu);
    curl_slist_free_all(headers);
    curl_multi_cleanup(multi);
    free(body);
    return failed == 0 ? 0 : 1;
}
