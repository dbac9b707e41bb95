// A viewer with the client that Foxglove's makers have written: npm `@foxglove/ws-protocol` over `ws`, and their
// `rosmsg` and `rosmsg2-serialization` for definitions and CDR.
//
// usage: viewer.js ADDRESS PROTOCOL ORIGIN JSON
//
// What is wished and printed is what `foxglove_client.py` describes.
"use strict";

const { FoxgloveClient } = require("@foxglove/ws-protocol");
const { parse } = require("@foxglove/rosmsg");
const { MessageReader, MessageWriter } = require("@foxglove/rosmsg2-serialization");
const { WebSocket } = require("ws");

const PATIENCE_MS = 60_000;
const AGAIN_MS = 500;
const CALL_ID = 7;

const [address, protocol, origin, text] = process.argv.slice(2);
const wishes = JSON.parse(text);
const wanted = wishes.parameters;

const channels = {};
const services = {};
const readers = new Map();
const messages = Object.fromEntries(Object.keys(wishes.topics).map((topic) => [topic, []]));
const responses = {};
const parameters = {};
const times = [];
const notes = [];
let capabilities = [];
let graph = null;
let hasAsked = false;

/** A message as JSON; of large arrays what tells pictures apart. */
function plain(value) {
    if (typeof value === "bigint") {
        return Number(value);
    }
    if (ArrayBuffer.isView(value) && value.length > 64) {
        const seen = { count: value.length, least: Infinity, greatest: -Infinity, sum: 0 };
        for (const element of value) {
            seen.least = Math.min(seen.least, Number(element));
            seen.greatest = Math.max(seen.greatest, Number(element));
            seen.sum += Number(element);
        }
        return seen;
    }
    if (ArrayBuffer.isView(value) || Array.isArray(value)) {
        return Array.from(value, plain);
    }
    if (value !== null && typeof value === "object") {
        return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]));
    }
    return value;
}

function readerOf(definition) {
    return new MessageReader(parse(definition, { ros2: true }));
}

function isDone() {
    return (
        times.length > 0 &&
        graph !== null &&
        Object.entries(wishes.topics).every(([topic, count]) => messages[topic].length >= count) &&
        Object.keys(wishes.calls).every((service) => service in responses) &&
        (wanted === undefined || ["all", "get", "set", "told"].every((answer) => answer in parameters))
    );
}

const socket = new WebSocket(`ws://${address}`, [protocol], { origin: origin || undefined });
const client = new FoxgloveClient({ ws: socket });

function end(seen) {
    console.log(JSON.stringify(seen));
    process.exit(0);
}

function endIfDone() {
    if (isDone()) {
        const offered = Object.entries(channels).map(([topic, channel]) => [
            topic,
            [channel.schemaName, channel.encoding, channel.schemaEncoding],
        ]);
        const [named, served] = [Object.fromEntries(offered), Object.keys(services).sort()];
        const { protocol } = socket;
        end({ protocol, capabilities, channels: named, services: served, graph, messages, responses, parameters, times, notes });
    }
}

/** As a person does: looks at all parameters, then sets some, again and again until it is told of the new values. */
function wishParameters() {
    if (wanted === undefined || !wanted.services.every((service) => service in services)) {
        return;
    }
    if (!hasAsked) {
        hasAsked = true;
        client.subscribeParameterUpdates(wanted.follow);
        client.getParameters([], "all");
        client.getParameters(wanted.get, "get");
    }
    if ("all" in parameters && "get" in parameters) {
        client.setParameters(wanted.set, "set");
    }
}

function call(service) {
    const writer = new MessageWriter(parse(service.request.schema, { ros2: true }));
    const data = writer.writeMessage(wishes.calls[service.name]);
    client.sendServiceCallRequest({ serviceId: service.id, callId: CALL_ID, encoding: "cdr", data });
}

client.on("open", () => client.subscribeConnectionGraph());
client.on("error", (error) => {
    throw error;
});
client.on("close", () => {
    throw new Error("the connection was closed");
});
client.on("serverInfo", (info) => (capabilities = info.capabilities));
client.on("status", (status) => notes.push(status.message));
client.on("time", (time) => times.push(Number(time.timestamp)));
client.on("connectionGraphUpdate", (update) => {
    graph ??= {};
    update.publishedTopics.forEach((topic) => (graph[topic.name] = topic.publisherIds));
});
client.on("advertise", (offered) => {
    for (const channel of offered) {
        channels[channel.topic] = channel;
        if (channel.topic in messages) {
            readers.set(client.subscribe(channel.id), [channel.topic, readerOf(channel.schema)]);
        }
    }
});
client.on("message", ({ subscriptionId, timestamp, data }) => {
    const [topic, reader] = readers.get(subscriptionId);
    messages[topic].push({ stamp_ns: Number(timestamp), message: plain(reader.readMessage(data)) });
});
client.on("advertiseServices", (served) => {
    for (const service of served) {
        services[service.name] = service;
        if (service.name in wishes.calls) {
            call(service);
        }
    }
});
client.on("serviceCallResponse", ({ serviceId, data }) => {
    const service = Object.values(services).find((it) => it.id === serviceId);
    responses[service.name] = plain(readerOf(service.response.schema).readMessage(data));
});
client.on("parameterValues", ({ id, parameters: values }) => {
    parameters[id ?? "told"] = Object.fromEntries(values.map((it) => [it.name, [it.value ?? null, it.type ?? null]]));
});

// The client shows messages of the socket one at a time: what they were is looked at behind each.
socket.addEventListener("message", endIfDone);
setInterval(wishParameters, AGAIN_MS);
setTimeout(() => {
    throw new Error(`of ${text} there is ${JSON.stringify({ messages, responses, parameters, notes })}`);
}, PATIENCE_MS);
