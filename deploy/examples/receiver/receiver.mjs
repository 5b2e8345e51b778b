#!/usr/bin/env node
// A receiver for RoomBridge in one file, with nothing but Node (18 or newer).
//
// It checks each request's signature, takes each event once, and keeps what it took: GET /chats/ROOM gives a chat's messages.
//
//   SIGNING_SECRET        the endpoint's secrets, whsec_…, spaces between; several while one is being replaced.
//                         "none" takes unsigned requests: for a first try on one machine
//   SIGNING_SECRET_FILE   a file that holds them, in place of SIGNING_SECRET
//   PORT                  default 9000; 0: any free one
//   STATE                 a folder for what is kept, default ./receiver-state
import { createHmac, timingSafeEqual } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const TOLERANCE = 5 * 60; // seconds that the sender's clock may differ; an older request may be a recorded one, sent again
const LARGEST_BODY = 32 << 20; // an event has at most 16 MiB, and base64 makes it a third longer

/** The keys in the environment; the program does not start without, since it would then believe anybody. */
function signingKeys({ SIGNING_SECRET, SIGNING_SECRET_FILE }) {
	const text = SIGNING_SECRET || (SIGNING_SECRET_FILE ? fs.readFileSync(SIGNING_SECRET_FILE, 'utf8') : '');
	if (text === 'none') return [];
	const secrets = text.split(/\s+/).filter(Boolean).map((secret) => secret.replace(/^whsec_/, ''));
	if (secrets.length === 0 || !secrets.every((secret) => /^[A-Za-z0-9+/]{2,}={0,2}$/.test(secret))) {
		console.error('receiver: SIGNING_SECRET or SIGNING_SECRET_FILE must give secrets in the form whsec_BASE64');
		process.exit(1);
	}
	return secrets.map((secret) => Buffer.from(secret, 'base64'));
}

/** Whether the request is fresh and one of its signatures is by one of our keys (Standard Webhooks, `v1`). */
function isSigned(keys, headers, body) {
	const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
	if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE) return false;
	return keys.some((key) => {
		// Over the bytes as they came: JSON that was read and printed again is other bytes.
		const ours = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
		return signatures.split(' ').some((one) => {
			const theirs = Buffer.from(one.startsWith('v1,') ? one.slice(3) : '', 'base64');
			return theirs.length === ours.length && timingSafeEqual(theirs, ours);
		});
	});
}

/**
 * What was received, in a file: one line for each delivery, with its id, its room and its body.
 *
 * With a database instead, one transaction holds the INSERT of the id (a primary key) and the work. Here the line is both,
 * so there is no moment at which one is kept without the other. The index lives in this process: run one.
 */
class Records {
	#file;
	#end = 0;
	#ids = new Set(); // all of them, for ever: an event may come again after days
	#places = new Map(); // room → [start, length] of its lines

	constructor(folder) {
		fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
		this.#file = fs.openSync(path.join(folder, 'receiver.log'), 'a+', 0o600);
		fs.fsyncSync(fs.openSync(folder)); // the file's name is on the disk too
		const text = fs.readFileSync(this.#file);
		for (let newline; (newline = text.indexOf('\n', this.#end)) >= 0;) {
			const [id, room] = JSON.parse(text.toString('utf8', this.#end, newline));
			this.#note(id, room, newline + 1 - this.#end);
		}
		// A crash in the middle of a write leaves half a line. Nobody was told that it is ours: it comes again.
		fs.ftruncateSync(this.#file, this.#end);
	}

	/** Keeps those deliveries that were not kept before, and returns them. */
	keep(deliveries) {
		// Nothing here waits for another turn of the event loop, so two copies of one event cannot both find it new.
		const fresh = deliveries.filter(({ id }) => !this.#ids.has(id));
		const lines = fresh.map(({ id, room, body }) => Buffer.from(`${JSON.stringify([id, room, body])}\n`));
		if (fresh.length === 0) return fresh;
		try {
			fs.appendFileSync(this.#file, Buffer.concat(lines));
			fs.fsyncSync(this.#file); // what is answered with 2xx outlives a power failure
		} catch (error) {
			fs.ftruncateSync(this.#file, this.#end); // a full disk: the next line must not begin behind half of this one
			throw error;
		}
		fresh.forEach(({ id, room }, index) => this.#note(id, room, lines[index].length));
		return fresh;
	}

	/**
	 * The deliveries of a room as a JSON array, each as it came, oldest first.
	 *
	 * They come in order within a room, so the order of arrival is the room's own. A `room.gap` among them stands where
	 * messages are missing.
	 */
	messages(room) {
		const bodies = (this.#places.get(room) ?? []).map(([start, length]) => {
			const line = Buffer.alloc(length);
			fs.readSync(this.#file, line, 0, length, start);
			return JSON.parse(line)[2];
		});
		return `[${bodies.join(',')}]`;
	}

	#note(id, room, length) {
		this.#ids.add(id);
		if (!this.#places.has(room)) this.#places.set(room, []);
		this.#places.get(room).push([this.#end, length]);
		this.#end += length;
	}
}

/** The status to answer a delivery with. */
async function receive(request) {
	const length = request.headers['content-length'];
	if (length === undefined) return 411;
	if (Number(length) > LARGEST_BODY) return 413;
	const chunks = [];
	for await (const chunk of request) chunks.push(chunk);
	const body = Buffer.concat(chunks);
	// 401, not 400: a wrong secret is no fault of the event. The sender keeps its events and tries again.
	if (keys.length > 0 && !isSigned(keys, request.headers, body)) return 401;
	const text = body.toString('utf8');
	// A batch ("format": "ndjson" with "batch") has one event a line. Whoever refuses one of them refuses the batch: the
	// sender finds out which it was.
	const isBatch = request.headers['content-type'] === 'application/x-ndjson';
	const deliveries = [];
	for (const body of isBatch ? text.replace(/\n$/, '').split('\n') : [text]) {
		let message;
		try {
			message = JSON.parse(body);
		} catch {
			return 400; // it is genuine and will never be better: no use in sending it again
		}
		// The body, not the roombridge- headers: it is what the signature covers.
		const { id, data } = message ?? {};
		if (typeof id !== 'string' || typeof data?.room !== 'string') return 400;
		deliveries.push({ id, room: data.room, body, message });
	}
	for (const { id, room, message } of records.keep(deliveries)) {
		if (message.type === 'room.gap') {
			console.log(`MISSING EVENTS in ${JSON.stringify(room)}: ${JSON.stringify(message.data.gap)}`);
		} else {
			console.log(`kept ${id} of ${JSON.stringify(room)}`);
		}
	}
	// Only now: 2xx means "this is mine", and the sender forgets it. It waits 15 s; what takes longer is a job of its own,
	// begun after the answer.
	return 204;
}

const keys = signingKeys(process.env);
const records = new Records(process.env.STATE || 'receiver-state');

const server = http.createServer(async (request, response) => {
	try {
		if (request.method === 'POST') {
			response.writeHead(await receive(request)).end();
		} else if (request.method === 'GET' && request.url.startsWith('/chats/chat')) {
			// An app asks here who is reading, and whether this chat is his. This example listens to its own machine only.
			const messages = Buffer.from(records.messages(decodeURIComponent(request.url.slice('/chats/'.length))));
			response.writeHead(200, { 'content-type': 'application/json', 'content-length': messages.length }).end(messages);
		} else {
			response.writeHead(404).end();
		}
	} catch (error) {
		// Not kept, so not 2xx: the sender will try again.
		console.error(`receiver: ${request.method} failed:`, error.message);
		if (!response.headersSent) response.writeHead(error instanceof URIError ? 400 : 503).end();
	}
});

server.listen(Number(process.env.PORT || 9000), '127.0.0.1', () => {
	console.log(`receiver listens on 127.0.0.1:${server.address().port}`);
});
