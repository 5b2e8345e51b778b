#!/usr/bin/env node
// The server side of rooms for an app in Node (18 or newer), with nothing but Node: copy it, and replace what is marked
// EXAMPLE.
//
//   POST /realtime/auth     may this user join these rooms? Answers a token for each room that he may join
//   GET  /realtime/config   where the hub is, and the grants of the rooms that anyone may join
//
//   HUB_URL                 default http://127.0.0.1:8000: the hub as this program reaches it
//   HUB_PUBLIC_URL          as apps reach it, default HUB_URL with ws:// and /connection/websocket
//   HUB_API_KEY, HUB_TOKEN_SECRET   defaults: roomhub's
//   PORT                    default 8080; 0: any free one
import { createHmac } from 'node:crypto';
import http from 'node:http';
import { setTimeout } from 'node:timers/promises';

const TOKEN_LIFE = 60 * 60; // seconds; the app asks again in time
const MOST_ROOMS = 1000; // in one request
const LONGEST_NAME = 255; // bytes

/** What is wrong with a request. */
class Refusal extends Error {
	constructor(status, message, headers = {}) {
		super(message);
		Object.assign(this, { status, headers });
	}
}

class Realtime {
	#hub;
	#rooms = []; // those whose patterns have more literal bytes come first

	constructor(hub) {
		this.#hub = hub;
	}

	/**
	 * Declares the rooms that fit a pattern: `{x}` is one or more characters without `:`, a last `{x*}` any rest. Of several
	 * patterns that fit, the one with the most literal bytes wins.
	 *
	 * The options are what the hub keeps and allows: history, keep, public, presence, maxMembers … (docs/ROOMHUB.md). The
	 * rule decides who may join: it gets the user and the pattern's parts, and only `true` lets him in.
	 */
	room(pattern, options = {}, rule = () => false) {
		const room = { pattern, options, rule, ...parse(pattern) };
		const twin = this.#rooms.find((other) => other.literals === room.literals && overlap(other.steps, room.steps));
		if (twin) throw new Error(`${twin.pattern} and ${pattern} fit the same names equally well: write more of one out`);
		this.#rooms.push(room);
		this.#rooms.sort((one, other) => other.literals - one.literals);
	}

	/** The answer to an app that asks `{"rooms":["order:1042",…],"connection":true}`; a user of null is nobody. */
	async answer(request, user = null) {
		if (typeof request !== 'object' || request === null || Array.isArray(request)) {
			throw new Refusal(400, 'the request must be an object');
		}
		const { rooms = [], connection = false } = request;
		if (!Array.isArray(rooms) || rooms.length > MOST_ROOMS || !rooms.every((name) => typeof name === 'string')) {
			throw new Refusal(400, `rooms must be a list of at most ${MOST_ROOMS} names`);
		}
		if (typeof connection !== 'boolean') throw new Refusal(400, 'connection must be true or false');
		const names = [...new Set(rooms)];
		const verdicts = await Promise.all(names.map((name) => this.#verdict(name, user)));
		// fromEntries, since a room may be called __proto__.
		const answer = { rooms: Object.fromEntries(names.map((name, index) => [name, verdicts[index]])) };
		// Nobody connects without a token.
		if (connection && user !== null) answer.connection = this.#token(user, {});
		return answer;
	}

	/** What an app needs at its start: the hub's URL, and grants, with which it joins public rooms without asking. */
	config(user = null) {
		const open = this.#rooms.filter((room) => room.isName && isOpen(room, user));
		return {
			url: this.#hub.publicUrl,
			grants: Object.fromEntries(open.map(({ pattern }) => [pattern, this.#grant(user, pattern)])),
		};
	}

	/** Tells the hub what the rooms keep and allow, and again every 10 s: a hub that was started anew has forgotten it. */
	async keepDeclared() {
		for (let said = ''; ;) {
			const { text, isDone, isFinal } = await this.#declare();
			if (text !== said) console.log(`rooms: ${text}`);
			said = text;
			if (isFinal) return;
			await setTimeout(isDone ? 10_000 : 1_000, undefined, { ref: false });
		}
	}

	async #declare() {
		const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
		const rooms = this.#rooms.map(({ pattern, options }) => ({
			pattern,
			...Object.fromEntries(Object.entries(options).map(([name, value]) => [snake(name), value])),
		}));
		try {
			const answer = await fetch(`${this.#hub.url}/api/declare_rooms`, {
				method: 'POST',
				headers: { 'x-api-key': this.#hub.apiKey, 'content-type': 'application/json' },
				body: JSON.stringify({ app: this.#hub.app, rooms }),
				signal: AbortSignal.timeout(5_000),
			});
			// Centrifugo has no such method: what rooms keep stands in its own configuration, as namespaces.
			if (answer.status === 404) return { text: 'the hub takes no declarations, its configuration counts', isFinal: true };
			if (answer.status === 401) return { text: 'the hub refuses the key: set HUB_API_KEY' };
			const { error } = await answer.json();
			return error ? { text: `the hub refuses them: ${error.code} ${error.message}` } : { text: 'declared', isDone: true };
		} catch (error) {
			return { text: `no answer from ${this.#hub.url}: ${error.cause?.message ?? error.message}` };
		}
	}

	async #verdict(name, user) {
		if (Buffer.byteLength(name) > LONGEST_NAME) return { error: 'bad_request' };
		const room = this.#rooms.find((room) => room.expression.test(name));
		if (name === '' || !room) return { error: 'no_rule' };
		if (isOpen(room, user)) return this.#grant(user, name);
		// No rule is asked about nobody: in `order?.userId === user` an order that is not there may be nobody's.
		if (user === null) return { error: 'forbidden' };
		const isAllowed = await room.rule(user, { ...room.expression.exec(name).groups });
		return isAllowed === true ? this.#grant(user, name) : { error: 'forbidden' };
	}

	#grant(user, channel) {
		return { token: this.#token(user, { channel }) };
	}

	/** A JWT, signed with HS256. It says whose it is: another user cannot use it. */
	#token(user, claims) {
		const now = Math.floor(Date.now() / 1000);
		const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
		const subject = user === null ? {} : { sub: String(user) };
		const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ ...subject, ...claims, exp: now + TOKEN_LIFE, iat: now })}`;
		return `${text}.${createHmac('sha256', this.#hub.tokenSecret).update(text).digest('base64url')}`;
	}
}

/** Whether this user may join without being asked about. */
function isOpen({ options }, user) {
	return options.public === true && (user !== null || options.anonymous !== false);
}

const PART = '{}'; // a character that is no colon
const ANY = '{*}'; // any character

/** A pattern, as a regular expression, and as steps, each of which takes one character, or any number: `many`. */
function parse(pattern) {
	if (!/^(?:[^{}]|\{[A-Za-z_]\w*\})*(?:\{[A-Za-z_]\w*\*\})?$/su.test(pattern) || pattern === '') {
		throw new Error(`${pattern} is no pattern: write {x} for a part of a name, and {x*} only at its end`);
	}
	let source = '';
	const steps = [];
	for (const [text, label, rest] of pattern.matchAll(/\{(\w+)(\*?)\}|[^{}]/gsu)) {
		if (!label) {
			source += text.replace(/[\\^$.*+?()[\]|/-]/, '\\$&');
			steps.push({ takes: text });
		} else if (!rest) {
			source += `(?<${label}>[^:]+)`;
			steps.push({ takes: PART }, { takes: PART, many: true });
		} else {
			source += `(?<${label}>.*)`;
			steps.push({ takes: ANY, many: true });
		}
	}
	const literals = Buffer.byteLength(pattern.replace(/\{\w+\*?\}/g, ''));
	return { steps, literals, expression: new RegExp(`^${source}$`, 'su'), isName: !pattern.includes('{') };
}

/** Whether some name fits both: goes through both at once, over every pair of places that one name can lead to. */
function overlap(one, other) {
	const meet = (a, b) => a === b || a === ANY || b === ANY || (a === PART && b !== ':') || (b === PART && a !== ':');
	const places = [[0, 0]];
	const seen = new Set();
	for (const [i, j] of places) {
		if (seen.has(`${i} ${j}`)) continue;
		seen.add(`${i} ${j}`);
		const [a, b] = [one[i], other[j]];
		if (!a && !b) return true;
		if (a?.many) places.push([i + 1, j]);
		if (b?.many) places.push([i, j + 1]);
		if (a && b && meet(a.takes, b.takes)) places.push([a.many ? i : i + 1, b.many ? j : j + 1]);
	}
	return false;
}

const hubUrl = process.env.HUB_URL || 'http://127.0.0.1:8000';
const realtime = new Realtime({
	app: 'example', // EXAMPLE: the name of this app, under which the hub keeps its list of rooms
	url: hubUrl,
	publicUrl: process.env.HUB_PUBLIC_URL || `${hubUrl.replace(/^http/, 'ws')}/connection/websocket`,
	apiKey: process.env.HUB_API_KEY || 'roomhub-api-key',
	tokenSecret: process.env.HUB_TOKEN_SECRET || 'roomhub-token-secret',
});

// EXAMPLE: the app's own data, as it would come from its database.
const orders = [
	{ id: '1042', userId: 'alice', status: 'sent' },
	{ id: '1043', userId: 'bob', status: 'open' },
];

async function findOrder(id) {
	return orders.find((order) => order.id === id);
}

// EXAMPLE: the app's rooms.
realtime.room( 'order:{id}', { history: 20 }, async ( user, { id } ) => ( await findOrder( id ) )?.userId === user );
realtime.room('chat:{a}:{b}', { history: 100, presence: true, maxMembers: 2 }, (user, { a, b }) => user === a || user === b);
realtime.room('shop', { history: 20, public: true });
realtime.room('news:{topic}', { history: 20, public: true });

/**
 * EXAMPLE: who is asking; null is nobody.
 *
 * PUT YOUR OWN SESSION CHECK HERE. This one believes every name: `Authorization: Bearer alice` is alice.
 */
async function userOf(request) {
	const { authorization } = request.headers;
	if (authorization === undefined) return null;
	const user = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
	if (!user) throw new Refusal(401, 'no such session', { 'www-authenticate': 'Bearer' });
	return user;
}

async function answer(request) {
	const path = request.url.split('?')[0];
	const method = { '/realtime/auth': 'POST', '/realtime/config': 'GET' }[path];
	if (!method) throw new Refusal(404, 'there is nothing here');
	if (request.method !== method) throw new Refusal(405, `use ${method}`, { allow: method });
	const user = await userOf(request);
	if (method === 'GET') return realtime.config(user);
	const { 'content-length': length = 0, 'transfer-encoding': encoding } = request.headers;
	if (length > 1 << 20 || encoding) throw new Refusal(413, 'the request is too long, or does not say how long it is');
	let body = '';
	for await (const chunk of request.setEncoding('utf8')) body += chunk;
	let asked;
	try {
		asked = JSON.parse(body);
	} catch {
		throw new Refusal(400, 'the request is not JSON');
	}
	return realtime.answer(asked, user);
}

const server = http.createServer(async (request, response) => {
	let status = 200;
	let headers = {};
	let body;
	try {
		body = await answer(request);
	} catch (error) {
		if (error instanceof Refusal) {
			({ status, headers } = error);
			body = { error: error.message };
		} else {
			// A rule that fails says nothing about the user: 500, and the app tries again. `forbidden` would be believed.
			console.error(error);
			status = 500;
			body = { error: 'something went wrong here' };
		}
	}
	const bytes = Buffer.from(JSON.stringify(body));
	response.writeHead(status, {
		'content-type': 'application/json',
		'content-length': bytes.length,
		'cache-control': 'no-store', // nobody keeps an answer with tokens in it
		...headers,
	});
	response.end(bytes);
});

server.listen(Number(process.env.PORT || 8080), '127.0.0.1', () => {
	console.log(`server listens on 127.0.0.1:${server.address().port}`);
	realtime.keepDeclared();
});
