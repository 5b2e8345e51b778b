<?php
// The server side of rooms for an app in PHP (8.1 or newer), with nothing but PHP: copy it, and replace what is marked EXAMPLE.
//
//   POST /realtime/auth     may this user join these rooms? Answers a token for each room that he may join
//   GET  /realtime/config   where the hub is, and the grants of the rooms that anyone may join
//
//   php -d display_errors=0 -S 127.0.0.1:8080 server.php      or under FPM
//   php server.php                                            tells the hub what the rooms keep, for a deployment or cron
//
//   HUB_URL                 default http://127.0.0.1:8000: the hub as this program reaches it
//   HUB_PUBLIC_URL          as apps reach it, default HUB_URL with ws:// and /connection/websocket
//   HUB_API_KEY, HUB_TOKEN_SECRET   defaults: roomhub's

declare(strict_types=1);

const TOKEN_LIFE = 60 * 60; // seconds; the app asks again in time
const MOST_ROOMS = 1000; // in one request
const LONGEST_NAME = 255; // bytes

// What goes wrong below must not look like a success, as a script that ends early otherwise does.
http_response_code(500);
set_error_handler(fn (int $level, string $text) => error_reporting() & $level ? throw new Exception($text) : false);

/** What is wrong with a request. */
final class Refusal extends Exception
{
    public function __construct(public readonly int $status, string $message, public readonly ?string $header = null)
    {
        parent::__construct($message);
    }
}

/** `{x}` is one or more bytes without `:`, a last `{x*}` any rest. */
final class Pattern
{
    private const PART = '{}'; // a byte that is no colon
    private const ANY = '{*}'; // any byte

    public readonly bool $isName;
    public readonly int $literals;
    private string $expression = '';
    private array $steps = []; // each takes one byte, or any number: [what it takes, whether any number]

    public function __construct(public readonly string $text)
    {
        if (!preg_match('/\A(?:[^{}]|\{[A-Za-z_]\w*\})*(?:\{[A-Za-z_]\w*\*\})?\z/', $text) || $text === '') {
            throw new Exception("$text is no pattern: write {x} for a part of a name, and {x*} only at its end");
        }
        preg_match_all('/([^{}])|\{(\w+)(\*?)\}/', $text, $parts, PREG_SET_ORDER);
        foreach ($parts as $part) {
            [$literal, $label, $rest] = [$part[1], $part[2] ?? '', $part[3] ?? ''];
            if ($literal !== '') {
                $this->expression .= preg_quote($literal, '/');
                $this->steps[] = [$literal, false];
            } elseif ($rest === '') {
                $this->expression .= "(?<$label>[^:]+)";
                array_push($this->steps, [self::PART, false], [self::PART, true]);
            } else {
                $this->expression .= "(?<$label>.*)";
                $this->steps[] = [self::ANY, true];
            }
        }
        $this->isName = !str_contains($text, '{');
        $this->literals = strlen(preg_replace('/\{\w+\*?\}/', '', $text));
    }

    /** The parts of a name that fits; null for one that does not. */
    public function match(string $name): ?array
    {
        if (!preg_match("/\A$this->expression\z/s", $name, $parts)) {
            return null;
        }
        return array_filter($parts, 'is_string', ARRAY_FILTER_USE_KEY); // without those that have a number for a name
    }

    /** Whether some name fits both: goes through both at once, over every pair of places that one name can lead to. */
    public function overlaps(Pattern $other): bool
    {
        $meet = fn (string $a, string $b) => $a === $b || in_array(self::ANY, [$a, $b], true)
            || ($a === self::PART && $b !== ':') || ($b === self::PART && $a !== ':');
        $places = [[0, 0]];
        $seen = [];
        while ($places) {
            [$i, $j] = array_pop($places);
            if (isset($seen["$i $j"])) {
                continue;
            }
            $seen["$i $j"] = true;
            [$a, $aMany] = $this->steps[$i] ?? [null, false];
            [$b, $bMany] = $other->steps[$j] ?? [null, false];
            if ($a === null && $b === null) {
                return true;
            }
            if ($aMany) {
                $places[] = [$i + 1, $j];
            }
            if ($bMany) {
                $places[] = [$i, $j + 1];
            }
            if ($a !== null && $b !== null && $meet($a, $b)) {
                $places[] = [$aMany ? $i : $i + 1, $bMany ? $j : $j + 1];
            }
        }
        return false;
    }
}

final class Room
{
    public function __construct(
        public readonly Pattern $pattern,
        public readonly ?Closure $rule,
        public readonly array $options,
    ) {
    }

    /** Whether this user may join without being asked about. */
    public function isOpenTo(int|string|null $user): bool
    {
        return ($this->options['public'] ?? false) && ($user !== null || ($this->options['anonymous'] ?? true));
    }
}

final class Realtime
{
    private array $rooms = []; // those whose patterns have more literal bytes come first

    public function __construct(
        private readonly string $app,
        private readonly string $url,
        private readonly string $publicUrl,
        private readonly string $apiKey,
        private readonly string $tokenSecret,
    ) {
    }

    /**
     * Declares the rooms that fit a pattern. Of several patterns that fit, the one with the most literal bytes wins.
     *
     * The rule decides who may join: it gets the user and the pattern's parts, and only true lets him in. The options are
     * what the hub keeps and allows: history, keep, public, presence, max_members … (docs/ROOMHUB.md).
     */
    public function room(string $pattern, ?Closure $rule = null, array $options = []): void
    {
        $room = new Room(new Pattern($pattern), $rule, $options);
        foreach ($this->rooms as $other) {
            if ($other->pattern->literals === $room->pattern->literals && $other->pattern->overlaps($room->pattern)) {
                throw new Exception("{$other->pattern->text} and $pattern fit the same names equally well: write more of one out");
            }
        }
        $this->rooms[] = $room;
        usort($this->rooms, fn (Room $one, Room $other) => $other->pattern->literals <=> $one->pattern->literals);
    }

    /** The answer to an app that asks `{"rooms":["order:1042",…],"connection":true}`; a user of null is nobody. */
    public function answer(mixed $request, int|string|null $user): array
    {
        if (!is_object($request)) {
            throw new Refusal(400, 'the request must be an object');
        }
        $rooms = $request->rooms ?? [];
        if (!is_array($rooms) || count($rooms) > MOST_ROOMS || array_filter($rooms, 'is_string') !== $rooms) {
            throw new Refusal(400, 'rooms must be a list of at most ' . MOST_ROOMS . ' names');
        }
        $connection = $request->connection ?? false;
        if (!is_bool($connection)) {
            throw new Refusal(400, 'connection must be true or false');
        }
        $verdicts = [];
        foreach (array_unique($rooms, SORT_STRING) as $name) {
            $verdicts[$name] = $this->verdict($name, $user);
        }
        // An object, also when it is empty or a room is called 0; and nobody connects without a token.
        return ['rooms' => (object) $verdicts] + ($connection && $user !== null ? ['connection' => $this->token($user)] : []);
    }

    /** What an app needs at its start: the hub's URL, and grants, with which it joins public rooms without asking. */
    public function config(int|string|null $user = null): array
    {
        $grants = [];
        foreach ($this->rooms as $room) {
            if ($room->pattern->isName && $room->isOpenTo($user)) {
                $grants[$room->pattern->text] = $this->grant($room->pattern->text, $user);
            }
        }
        return ['url' => $this->publicUrl, 'grants' => (object) $grants];
    }

    /**
     * Tells the hub what the rooms keep and allow, unless that was done in the last seconds.
     *
     * A script has no start at which to do it once; and a hub that was started anew has forgotten it. A file remembers when
     * it was, and what came of it, which is logged when it is another thing than before.
     */
    public function keepDeclared(): void
    {
        $note = sys_get_temp_dir() . '/rooms-' . hash('sha256', "$this->url $this->apiKey " . $this->declaration());
        $said = is_file($note) ? file_get_contents($note) : '';
        if ($said !== '' && time() - filemtime($note) < ($said === 'declared' ? 10 : 1)) {
            return;
        }
        $text = $this->declare();
        file_put_contents($note, $text, LOCK_EX);
        if ($text !== $said) {
            error_log("rooms: $text");
        }
    }

    private function declaration(): string
    {
        $rooms = array_map(fn (Room $room) => ['pattern' => $room->pattern->text] + $room->options, $this->rooms);
        return json_encode(['app' => $this->app, 'rooms' => $rooms], JSON_THROW_ON_ERROR);
    }

    /** Tells the hub now; gives what came of it. */
    public function declare(): string
    {
        $context = stream_context_create(['http' => [
            'method' => 'POST',
            'header' => ["x-api-key: $this->apiKey", 'content-type: application/json', 'connection: close'],
            'content' => $this->declaration(),
            'timeout' => 2,
            'ignore_errors' => true, // gives the answer, whatever its status
        ]]);
        $stream = @fopen("$this->url/api/declare_rooms", 'r', false, $context);
        if (!$stream) {
            return "no answer from $this->url";
        }
        $status = explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
        $answer = json_decode(stream_get_contents($stream), true);
        return match (true) {
            isset($answer['result']) => 'declared',
            isset($answer['error']) => "the hub refuses them: {$answer['error']['code']} {$answer['error']['message']}",
            // Centrifugo has no such method: what rooms keep stands in its own configuration, as namespaces.
            $status === '404' => 'the hub takes no declarations, its configuration counts',
            $status === '401' => 'the hub refuses the key: set HUB_API_KEY',
            default => "the hub answered $status",
        };
    }

    private function verdict(string $name, int|string|null $user): array
    {
        if (strlen($name) > LONGEST_NAME) {
            return ['error' => 'bad_request'];
        }
        foreach ($name === '' ? [] : $this->rooms as $room) {
            $parts = $room->pattern->match($name);
            if ($parts === null) {
                continue;
            }
            // No rule is asked about nobody: in `$order?->user_id === $user` an order that is not there would be nobody's.
            $isAllowed = $room->isOpenTo($user) || ($user !== null && $room->rule && ($room->rule)($user, $parts) === true);
            return $isAllowed ? $this->grant($name, $user) : ['error' => 'forbidden'];
        }
        return ['error' => 'no_rule'];
    }

    private function grant(string $name, int|string|null $user): array
    {
        return ['token' => $this->token($user, ['channel' => $name])];
    }

    /** A JWT, signed with HS256. It says whose it is: another user cannot use it. */
    private function token(int|string|null $user, array $claims = []): string
    {
        $part = fn (string $data) => rtrim(strtr(base64_encode($data), '+/', '-_'), '=');
        $subject = $user === null ? [] : ['sub' => (string) $user];
        $payload = $subject + $claims + ['exp' => time() + TOKEN_LIFE, 'iat' => time()];
        $text = $part('{"alg":"HS256","typ":"JWT"}') . '.' . $part(json_encode($payload, JSON_THROW_ON_ERROR));
        return $text . '.' . $part(hash_hmac('sha256', $text, $this->tokenSecret, true));
    }
}

$hub_url = getenv('HUB_URL') ?: 'http://127.0.0.1:8000';
$realtime = new Realtime(
    app: 'example', // EXAMPLE: the name of this app, under which the hub keeps its list of rooms
    url: $hub_url,
    publicUrl: getenv('HUB_PUBLIC_URL') ?: preg_replace('/^http/', 'ws', $hub_url) . '/connection/websocket',
    apiKey: getenv('HUB_API_KEY') ?: 'roomhub-api-key',
    tokenSecret: getenv('HUB_TOKEN_SECRET') ?: 'roomhub-token-secret',
);

// EXAMPLE: the app's own data, as it would come from its database.
final class Order
{
    public function __construct(public readonly string $id, public readonly string $user_id, public readonly string $status)
    {
    }
}

function find_order(string $id): ?Order
{
    $orders = ['1042' => new Order('1042', 'alice', 'sent'), '1043' => new Order('1043', 'bob', 'open')];
    return $orders[$id] ?? null;
}

// EXAMPLE: the app's rooms.
$realtime->room( 'order:{id}', fn ( $user, array $p ) => find_order( $p['id'] )?->user_id === $user, [ 'history' => 20 ] );
$realtime->room(
    'chat:{a}:{b}',
    fn ($user, array $p) => in_array($user, $p, true),
    ['history' => 100, 'presence' => true, 'max_members' => 2],
);
$realtime->room('shop', options: ['history' => 20, 'public' => true]);
$realtime->room('news:{topic}', options: ['history' => 20, 'public' => true]);

/**
 * EXAMPLE: who is asking; null is nobody.
 *
 * PUT YOUR OWN SESSION CHECK HERE. This one believes every name: `Authorization: Bearer alice` is alice.
 */
function user_of_request(): ?string
{
    $authorization = $_SERVER['HTTP_AUTHORIZATION'] ?? null;
    if ($authorization === null) {
        return null;
    }
    if (!preg_match('/\Abearer +(\S+)\z/i', $authorization, $parts)) {
        throw new Refusal(401, 'no such session', 'www-authenticate: Bearer');
    }
    return $parts[1];
}

function answer(Realtime $realtime): array
{
    $method = ['/realtime/auth' => 'POST', '/realtime/config' => 'GET'][explode('?', $_SERVER['REQUEST_URI'])[0]] ?? null;
    if ($method === null) {
        throw new Refusal(404, 'there is nothing here');
    }
    if ($_SERVER['REQUEST_METHOD'] !== $method) {
        throw new Refusal(405, "use $method", "allow: $method");
    }
    $user = user_of_request();
    if ($method === 'GET') {
        return $realtime->config($user);
    }
    if ((int) ($_SERVER['CONTENT_LENGTH'] ?? 0) > 1 << 20) {
        throw new Refusal(413, 'the request is too long');
    }
    try {
        $asked = json_decode(file_get_contents('php://input'), flags: JSON_THROW_ON_ERROR);
    } catch (JsonException) {
        throw new Refusal(400, 'the request is not JSON');
    }
    return $realtime->answer($asked, $user);
}

if (PHP_SAPI === 'cli') {
    exit('rooms: ' . $realtime->declare() . "\n");
}
try {
    $realtime->keepDeclared();
} catch (Throwable $error) {
    error_log("rooms: not declared: $error"); // who may join does not depend on it
}
try {
    [$status, $body] = [200, answer($realtime)];
} catch (Refusal $refusal) {
    [$status, $body] = [$refusal->status, ['error' => $refusal->getMessage()]];
    if ($refusal->header) {
        header($refusal->header);
    }
} catch (Throwable $error) {
    // A rule that fails says nothing about the user: 500, and the app tries again. `forbidden` would be believed.
    error_log((string) $error);
    [$status, $body] = [500, ['error' => 'something went wrong here']];
}
$text = json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
http_response_code($status);
header('content-type: application/json');
header('cache-control: no-store'); // nobody keeps an answer with tokens in it
header('content-length: ' . strlen($text));
echo $text;
