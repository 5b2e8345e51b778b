<?php
// A receiver for RoomBridge in one file, with nothing but PHP (8.1 or newer).
//
// It checks each request's signature, takes each event once, and keeps what it took: GET /chats/ROOM gives a chat's messages.
//
//   php -d display_errors=0 -S 127.0.0.1:9000 receiver.php
//
// or under FPM, with `env[SIGNING_SECRET_FILE] = …` in the pool. `display_errors` must be off: PHP would print its warning
// about a body over `post_max_size` before this file runs, and whatever is printed first goes out as a 200.
//
//   SIGNING_SECRET        the endpoint's secrets, whsec_…, spaces between; several while one is being replaced.
//                         "none" takes unsigned requests: for a first try on one machine
//   SIGNING_SECRET_FILE   a file that holds them, in place of SIGNING_SECRET
//   STATE                 a folder for what is kept, outside of what the web server shows; default ./receiver-state

declare(strict_types=1);

const TOLERANCE = 5 * 60; // seconds that the sender's clock may differ; an older request may be a recorded one, sent again
const LARGEST_BODY = 32 << 20; // an event has at most 16 MiB, and base64 makes it a third longer

// What goes wrong below must not look like a success, as a script that ends early otherwise does.
http_response_code(503);
set_error_handler(fn (int $level, string $text) => error_reporting() & $level ? throw new Exception($text) : false);

/** The keys in the environment; without any nothing is taken, since it would otherwise believe anybody. */
function signing_keys(): array
{
    $text = getenv('SIGNING_SECRET') ?: '';
    if ($text === '' && getenv('SIGNING_SECRET_FILE')) {
        $text = file_get_contents(getenv('SIGNING_SECRET_FILE'));
    }
    if ($text === 'none') {
        return [];
    }
    $secrets = preg_split('/\s+/', $text, -1, PREG_SPLIT_NO_EMPTY);
    $keys = array_map(fn (string $secret) => base64_decode(preg_replace('/^whsec_/', '', $secret), true), $secrets);
    if (!$keys || in_array(false, $keys, true) || in_array('', $keys, true)) {
        throw new Exception('SIGNING_SECRET or SIGNING_SECRET_FILE must give secrets in the form whsec_BASE64');
    }
    return $keys;
}

/** Whether the request is fresh and one of its signatures is by one of our keys (Standard Webhooks, `v1`). */
function is_signed(array $keys, string $id, string $timestamp, string $signatures, string $body): bool
{
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE) {
        return false;
    }
    foreach ($keys as $key) {
        // Over the bytes as they came: JSON that was read and printed again is other bytes.
        $ours = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        foreach (explode(' ', $signatures) as $theirs) {
            if (hash_equals($ours, $theirs)) {
                return true;
            }
        }
    }
    return false;
}

function state_folder(): string
{
    return getenv('STATE') ?: 'receiver-state';
}

/** The path of a room's file: a room's name may hold what a file's must not, and be longer. */
function room_path(string $room): string
{
    return state_folder() . '/' . hash('sha256', $room) . '.log';
}

/**
 * Keeps those deliveries of a room, each an id and a body, that were not kept before; the ids of these.
 *
 * One line of the room's file for each delivery: its id and its body. With a database instead, one transaction holds the
 * INSERT of the id (a primary key) and the work. Here the line is both, so there is no moment at which one is kept without
 * the other, and two copies of one event at the same time meet at the lock. The ids stay: an event may come again after days.
 */
function keep(string $room, array $deliveries): array
{
    @mkdir(state_folder(), 0700, true); // mostly it is there
    $isNew = !file_exists(room_path($room));
    $log = fopen(room_path($room), 'c+');
    if ($isNew) {
        fsync(fopen(state_folder(), 'r')); // the file's name is on the disk too
    }
    flock($log, LOCK_EX); // until it is closed, with the end of this function
    $new = [];
    foreach ($deliveries as [$id, $body]) {
        $json = json_encode($body, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
        $new[rawurlencode($id)] = "$json\n";
    }
    $end = 0;
    while (($line = fgets($log)) !== false && str_ends_with($line, "\n")) {
        unset($new[explode(' ', $line, 2)[0]]);
        $end += strlen($line);
    }
    if (!$new) {
        return [];
    }
    // A crash in the middle of a write leaves half a line. Nobody was told that it is ours: it comes again.
    ftruncate($log, $end);
    fseek($log, $end);
    $lines = implode(array_map(fn ($key) => "$key $new[$key]", array_keys($new)));
    // What is answered with 2xx outlives a power failure.
    if (fwrite($log, $lines) !== strlen($lines) || !fflush($log) || !fsync($log)) {
        throw new Exception('cannot write; is the disk full?');
    }
    return array_map(fn ($key) => rawurldecode((string) $key), array_keys($new));
}

/**
 * The deliveries of a room as a JSON array, each as it came, oldest first.
 *
 * They come in order within a room, so the order of arrival is the room's own. A `room.gap` among them stands where
 * messages are missing.
 */
function messages(string $room): string
{
    if (!file_exists(room_path($room))) {
        return '[]';
    }
    $bodies = [];
    $log = fopen(room_path($room), 'r');
    flock($log, LOCK_SH);
    while (($line = fgets($log)) !== false && str_ends_with($line, "\n")) {
        $bodies[] = json_decode(explode(' ', $line, 2)[1]);
    }
    return '[' . implode(',', $bodies) . ']';
}

/** The status to answer a delivery with. */
function receive(string $body): int
{
    $keys = signing_keys();
    [$id, $timestamp, $signatures] = array_map(
        fn (string $name) => $_SERVER["HTTP_WEBHOOK_$name"] ?? '',
        ['ID', 'TIMESTAMP', 'SIGNATURE'],
    );
    // 401, not 400: a wrong secret is no fault of the event. The sender keeps its events and tries again.
    if ($keys && !is_signed($keys, $id, $timestamp, $signatures, $body)) {
        return 401;
    }
    // A batch ("format": "ndjson" with "batch") has one event a line, all of one room. Whoever refuses one of them refuses the
    // batch: the sender finds out which it was.
    $isBatch = ($_SERVER['CONTENT_TYPE'] ?? '') === 'application/x-ndjson';
    $rooms = $gaps = [];
    foreach ($isBatch ? explode("\n", rtrim($body, "\n")) : [$body] as $one) {
        // The body, not the roombridge- headers: it is what the signature covers. An event may be 512 levels deep, which with
        // what is around it is more than PHP reads unasked; and it may hold half a surrogate pair, which PHP never reads: for
        // finding the room any character will do in its place.
        $message = json_decode($one, true, 1024)
            ?? json_decode(preg_replace('/\\\\\\\\(*SKIP)(*FAIL)|\\\\ud[89a-f]../i', '\ufffd', $one) ?? '', true, 1024);
        [$id, $room] = [$message['id'] ?? null, $message['data']['room'] ?? null];
        if (!is_string($id) || !is_string($room)) {
            return 400; // it is genuine and will never be better: no use in sending it again
        }
        $rooms[$room][] = [$id, $one];
        $gaps[$id] = $message['type'] === 'room.gap' ? json_encode($message['data']['gap']) : null;
    }
    foreach ($rooms as $room => $deliveries) {
        foreach (keep((string) $room, $deliveries) as $id) {
            $name = json_encode((string) $room);
            error_log($gaps[$id] ? "MISSING EVENTS in $name: $gaps[$id]" : "kept $id of $name");
        }
    }
    // Only now: 2xx means "this is mine", and the sender forgets it. It waits 15 s; what takes longer is a job of its own,
    // begun after the answer.
    return 204;
}

try {
    $path = explode('?', $_SERVER['REQUEST_URI'])[0]; // parse_url() sees a port in chat:34:42
    if ($_SERVER['REQUEST_METHOD'] === 'POST') {
        $isTooLarge = (int) ($_SERVER['CONTENT_LENGTH'] ?? 0) > LARGEST_BODY;
        http_response_code($isTooLarge ? 413 : receive(file_get_contents('php://input')));
    } elseif ($_SERVER['REQUEST_METHOD'] === 'GET' && str_starts_with($path, '/chats/chat')) {
        // An app asks here who is reading, and whether this chat is his.
        $messages = messages(rawurldecode(substr($path, strlen('/chats/'))));
        http_response_code(200);
        header('content-type: application/json');
        header('content-length: ' . strlen($messages));
        echo $messages;
    } else {
        http_response_code(404);
    }
} catch (Throwable $error) {
    // Not kept, so not 2xx: the sender will try again.
    error_log("receiver: {$_SERVER['REQUEST_METHOD']} failed: " . $error->getMessage());
}
