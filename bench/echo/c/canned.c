/* A server of HTTP/2 that answers each call of gRPC with the message in a file: the least that a server can do, to see how
 * long a client and the kernel take by themselves. It decodes no header. A call costs it one read and one write; epoll(7) tells
 * it of all connections that have something, 64 at once.
 *   gcc -O2 -o canned canned.c;  ./canned ADDRESS PORT FILE */

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATA, HEADERS, SETTINGS = 4, PING = 6, WINDOW = 8 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };
enum { PREFACE = 24, HEAD = 9, CREDIT = 16384, MOST = 1024, AT_ONCE = 64 };

// A connection, by its descriptor. in keeps what is left of the last read.
struct conn {
	int first;
	size_t have, skip, taken;
	unsigned char in[1 << 16];
};

static struct conn *conns[MOST];
static unsigned char out[1 << 20], message[1 << 10]; // out: the answers to one read, each above 64 bytes of requests
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

// take answers one frame.
static void take(struct conn *c, const unsigned char *f, size_t size) {
	uint32_t id = (uint32_t)(f[5] & 127) << 24 | f[6] << 16 | f[7] << 8 | f[8];
	if (f[3] == DATA && (c->taken += size) >= CREDIT) {
		uint32_t more = htonl(c->taken);
		frame(WINDOW, 0, 0, &more, 4), c->taken = 0;
	}
	if (f[3] == DATA && f[4] & END_STREAM)
		answer(id, c->first), c->first = 0;
	else if (f[3] == SETTINGS && !(f[4] & ACK))
		frame(SETTINGS, ACK, 0, "", 0);
	else if (f[3] == PING && !(f[4] & ACK))
		frame(PING, ACK, 0, f + HEAD, size);
}

// flush writes the answers. The socket waits: a client that does not read holds all up. It returns 0 where the connection ended.
static int flush(int fd) {
	for (size_t sent = 0; sent < filled;) {
		ssize_t n = write(fd, out + sent, filled - sent);
		if (n <= 0) return 0;
		sent += n;
	}
	return filled = 0, 1;
}

// serve answers what one read brings. It returns 0 where the connection ended.
static int serve(int fd, struct conn *c) {
	ssize_t n = read(fd, c->in + c->have, sizeof c->in - c->have);
	if (n <= 0) return 0;
	if ((c->have += n) < c->skip) return 1;
	size_t at = c->skip, size;
	for (c->skip = 0; c->have - at >= HEAD; at += HEAD + size) {
		const unsigned char *f = c->in + at;
		size = (size_t)f[0] << 16 | f[1] << 8 | f[2];
		if (size > sizeof c->in - HEAD) return 0;
		if (c->have - at < HEAD + size) break;
		take(c, f, size);
	}
	memmove(c->in, c->in + at, c->have - at), c->have -= at;
	return flush(fd);
}

// welcome begins a connection. It returns 0 where there is no room for one more.
static int welcome(int poll, int fd) {
	int one = 1;
	struct epoll_event look = {.events = EPOLLIN, .data.fd = fd};
	if (fd >= MOST || !(conns[fd] || (conns[fd] = malloc(sizeof *conns[fd])))) return 0;
	conns[fd]->first = 1, conns[fd]->have = conns[fd]->taken = 0, conns[fd]->skip = PREFACE;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	frame(SETTINGS, 0, 0, "", 0);
	return flush(fd) && !epoll_ctl(poll, EPOLL_CTL_ADD, fd, &look);
}

int main(int argc, char **argv) {
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
	struct epoll_event ready[AT_ONCE], look = {.events = EPOLLIN, .data.fd = listener};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(argc == 4 ? atoi(argv[2]) : 0)};
	FILE *answer = argc == 4 ? fopen(argv[3], "r") : 0;
	if (!answer || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) return fputs("usage: canned ADDRESS PORT FILE\n", stderr), 2;
	if (!(length = fread(message, 1, sizeof message, answer)) || !feof(answer)) return fputs("canned: no message, or a long one\n", stderr), 1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(listener, (struct sockaddr *)&to, sizeof to) || listen(listener, 128)) return perror("canned"), 1;
	if (epoll_ctl(poll, EPOLL_CTL_ADD, listener, &look)) return perror("canned"), 1;
	for (int n; (n = epoll_wait(poll, ready, AT_ONCE, -1)) >= 0;)
		for (int i = 0; i < n; i++) {
			int fd = ready[i].data.fd, is_new = fd == listener;
			if (is_new && (fd = accept(listener, 0, 0)) < 0) return perror("canned"), 1;
			if (!(is_new ? welcome(poll, fd) : serve(fd, conns[fd]))) filled = 0, close(fd);
		}
	return perror("canned"), 1;
}
