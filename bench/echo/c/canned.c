/* A server of HTTP/2 that answers each call of gRPC with the message in a file: the least that a server can do, to see how
 * long a client takes by itself. It decodes no header, and serves one connection at a time.
 *   gcc -O2 -o canned canned.c;  ./canned ADDRESS PORT FILE */

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATA, HEADERS, SETTINGS = 4, PING = 6, WINDOW = 8 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };
enum { PREFACE = 24, HEAD = 9, CREDIT = 16384 };

static unsigned char in[1 << 16], out[1 << 20], message[1 << 10]; // out: the answers to one read, each above 64 bytes of requests
static size_t filled, length;

// frame appends one frame.
static void frame(int kind, int flags, uint32_t id, const void *payload, size_t size) {
	unsigned char *at = out + filled;
	uint32_t number = htonl(id);
	at[0] = size >> 16, at[1] = size >> 8, at[2] = size, at[3] = kind, at[4] = flags;
	memcpy(at + 5, &number, 4);
	memcpy(at + HEAD, payload, size);
	filled += HEAD + size;
}

// answer appends the answer to one call. The first one puts its fields into the table of headers, the others name them.
static void answer(uint32_t id, int first) {
	static const char opening[] = "\x88\x5f\x10" "application/grpc", closing[] = "\x40\x0bgrpc-status\x01" "0";
	if (first)
		frame(HEADERS, END_HEADERS, id, opening, sizeof opening - 1);
	else
		frame(HEADERS, END_HEADERS, id, "\x88\xbf", 2);
	frame(DATA, 0, id, message, length);
	if (first)
		frame(HEADERS, END_HEADERS | END_STREAM, id, closing, sizeof closing - 1);
	else
		frame(HEADERS, END_HEADERS | END_STREAM, id, "\xbe", 1);
}

// serve answers one connection until its end.
static void serve(int fd) {
	size_t have = 0, skip = PREFACE, taken = 0;
	int first = 1;
	filled = 0;
	frame(SETTINGS, 0, 0, "", 0);
	for (;;) {
		for (size_t sent = 0; sent < filled;) {
			ssize_t n = write(fd, out + sent, filled - sent);
			if (n <= 0) return;
			sent += n;
		}
		filled = 0;
		ssize_t n = read(fd, in + have, sizeof in - have);
		if (n <= 0) return;
		have += n;
		size_t at = 0;
		if (have < skip) continue;
		at += skip, skip = 0;
		while (have - at >= HEAD) {
			const unsigned char *f = in + at;
			size_t size = (size_t)f[0] << 16 | f[1] << 8 | f[2];
			uint32_t id = (uint32_t)(f[5] & 127) << 24 | f[6] << 16 | f[7] << 8 | f[8];
			if (size > sizeof in - HEAD) return;
			if (have - at < HEAD + size) break;
			if (f[3] == DATA && (taken += size) >= CREDIT) {
				uint32_t more = htonl(taken);
				frame(WINDOW, 0, 0, &more, 4), taken = 0;
			}
			if (f[3] == DATA && f[4] & END_STREAM)
				answer(id, first), first = 0;
			else if (f[3] == SETTINGS && !(f[4] & ACK))
				frame(SETTINGS, ACK, 0, "", 0);
			else if (f[3] == PING && !(f[4] & ACK))
				frame(PING, ACK, 0, f + HEAD, size);
			at += HEAD + size;
		}
		memmove(in, in + at, have - at), have -= at;
	}
}

int main(int argc, char **argv) {
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(argc == 4 ? atoi(argv[2]) : 0)};
	FILE *answer = argc == 4 ? fopen(argv[3], "r") : 0;
	if (!answer || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) return fputs("usage: canned ADDRESS PORT FILE\n", stderr), 2;
	if (!(length = fread(message, 1, sizeof message, answer)) || !feof(answer)) return fputs("canned: no message, or a long one\n", stderr), 1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(listener, (struct sockaddr *)&to, sizeof to) || listen(listener, 16)) return perror("canned"), 1;
	for (int fd; (fd = accept(listener, 0, 0)) >= 0; close(fd)) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		serve(fd);
	}
	return perror("canned"), 1;
}
