/* An agent of SPOP that answers each question of HAProxy with the same variables, as many as headgate sets: the least that an agent
 * can do, to see how long HAProxy takes by itself. It reads no argument, and serves one connection at a time.
 *   gcc -O2 -o agent agent.c;  ./agent ADDRESS PORT */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HELLO = 1, DISCONNECT = 2, NOTIFY = 3, AGENT_HELLO = 101, ACK = 103 };
enum { SET_VAR = 1, TXN = 2, BOOL = 1, TEXT = 8, UINT32 = 3, FIN = 1, TYPE_AND_FLAGS = 5 };

static unsigned char in[1 << 16], out[1 << 16];
static size_t filled;

static void byte(int b) { out[filled++] = b; }

/* text appends a text of less than 240 bytes, with its length. */
static void text(const char *s)
{
	size_t n = strlen(s);
	byte(n);
	memcpy(out + filled, s, n);
	filled += n;
}

static void set(const char *name, const char *value)
{
	byte(SET_VAR), byte(3), byte(TXN), text(name);
	if (value)
		byte(TEXT), text(value);
	else
		byte(BOOL);
}

/* begin appends the head of a frame, with the ids of the question. */
static size_t begin(int kind, const unsigned char *ids, size_t size)
{
	size_t at = filled;
	filled += 4;
	byte(kind), byte(0), byte(0), byte(0), byte(FIN);
	memcpy(out + filled, ids, size);
	filled += size;
	return at;
}

static void end(size_t at)
{
	uint32_t size = htonl(filled - at - 4);
	memcpy(out + at, &size, 4);
}

/* number returns the size of the number at p. */
static size_t number(const unsigned char *p)
{
	size_t n = 1;
	if (p[0] >= 240)
		while (p[n++] >= 128) ;
	return n;
}

static void hello(void)
{
	size_t at = begin(AGENT_HELLO, (const unsigned char *)"\0\0", 2);
	text("version"), byte(TEXT), text("2.0");
	text("max-frame-size"), byte(UINT32), byte(0xfc), byte(0xf0), byte(0x06); /* 16380 */
	text("capabilities"), byte(TEXT), text("pipelining");
	end(at);
}

static void answer(const unsigned char *ids)
{
	size_t first = number(ids), at = begin(ACK, ids, first + number(ids + first));
	set("deny", 0);
	set("rule", "per-ip");
	set("ratelimit", "\"per-ip\";r=999999999;t=3600");
	set("ratelimit_policy", "\"per-ip\";q=1000000000;w=3600");
	end(at);
}

/* serve answers one connection until its end. */
static void serve(int fd)
{
	for (size_t have = 0;;) {
		ssize_t n = read(fd, in + have, sizeof in - have);
		if (n <= 0) return;
		have += n;
		size_t at = 0;
		while (have - at >= 4) {
			size_t size = (size_t)in[at] << 24 | in[at + 1] << 16 | in[at + 2] << 8 | in[at + 3];
			if (size > sizeof in - 4) return;
			if (have - at < 4 + size) break;
			switch (in[at + 4]) {
			case HELLO: hello(); break;
			case NOTIFY: answer(in + at + 4 + TYPE_AND_FLAGS); break;
			case DISCONNECT: return;
			}
			at += 4 + size;
		}
		memmove(in, in + at, have - at), have -= at;
		if (filled && write(fd, out, filled) != (ssize_t)filled) return;
		filled = 0;
	}
}

int main(int argc, char **argv)
{
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(argc == 3 ? atoi(argv[2]) : 0)};
	if (argc != 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) return fputs("usage: agent ADDRESS PORT\n", stderr), 2;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(listener, (struct sockaddr *)&to, sizeof to) || listen(listener, 16)) return perror("agent"), 1;
	for (int fd; (fd = accept(listener, 0, 0)) >= 0; close(fd)) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		serve(fd);
		filled = 0;
	}
	return perror("agent"), 1;
}
