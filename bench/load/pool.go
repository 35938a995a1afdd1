package main

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/wire"
)

// idDigits is the fixed width of an id, so that it can be written over in place.
// hexadecimal, so that ids are as long for the first request as for the last
const idDigits = 8

// pool is a fixed set of ready-made requests, used round and round: while the clock runs nothing is
// drawn or formatted.
// One run of memory, so that the next request is likely to be in the cache by the time it is taken.
type pool struct {
	data []byte
	ends []int // request i is data[ends[i-1]:ends[i]]
	ids  []int // where its id digits start; empty: requests carry none
	next int
}

// size returns how many requests the options call for: as many as will be sent, within --pool.
// Where more is sent than the pool has, keys come round again in the same order.
func poolSize(o options) int {
	return max(1, min(o.warmup+o.requests, o.pool/o.checks))
}

// newDatagrams draws and formats datagrams of o.checks lines.
func newDatagrams(o options) *pool {
	keys, p := newStream(o), &pool{}
	for range poolSize(o) {
		p.addDatagram(o, keys)
	}
	return p
}

// Only the first line has an id: an answer is one datagram, whatever its lines.
func (p *pool) addDatagram(o options, keys stream) {
	q := wire.Query{Op: opOf(o.op), Cost: 1, Rule: []byte(o.rule)}
	before, after, keyed := strings.Cut(strings.ReplaceAll(o.line, "{rule}", o.rule), "{key}")
	var key [maxKeyText]byte
	for line := range o.checks {
		if line > 0 {
			p.data = append(p.data, '\n')
		}
		if o.line != "" {
			p.data = append(p.data, before...)
			if keyed {
				p.data = append(appendKey(p.data, keys.draw()), after...)
			}
			continue
		}
		q.Key, q.ID = appendKey(key[:0], keys.draw()), nil
		if line == 0 && o.ids {
			q.ID = []byte(strings.Repeat("0", idDigits))
		}
		p.data = wire.AppendQuery(p.data, q)
		if q.ID != nil { // AppendQuery puts the id last
			p.ids = append(p.ids, len(p.data)-idDigits)
		}
	}
	p.ends = append(p.ends, len(p.data))
}

// opOf returns the operation called name, which validate has checked.
func opOf(name string) wire.Op {
	for _, op := range []wire.Op{wire.Peek, wire.Count} {
		if op.String() == name {
			return op
		}
	}
	return wire.Check
}

// newRequests draws and formats HTTP/1.1 GET requests.
// {key} and {rule} in the path are filled in: --path '/v1/auth/envoy/v2/{key}' asks another way
// into the same door.
func newRequests(o options) *pool {
	keys, p := newStream(o), &pool{}
	target := strings.ReplaceAll(o.path, "{rule}", o.rule)
	before, after, keyed := strings.Cut(target, "{key}")
	tail := after + " HTTP/1.1\r\nHost: load\r\n" + ballast(o.headerBytes) + "\r\n"
	size := poolSize(o)
	// One request, as a thousand of 64 KiB would not fit the cache.
	if o.headerBytes > 0 {
		size = 1
	}
	for range size {
		p.data = append(append(p.data, "GET "...), before...)
		if keyed {
			p.data = appendKey(p.data, keys.draw())
		}
		p.data = append(p.data, tail...)
		p.ends = append(p.ends, len(p.data))
	}
	return p
}

// ballast returns header lines of about n bytes in all, as a proxy forwards its client's cookies.
func ballast(n int) string {
	const line = 1024
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		name := "X-Ballast-" + strconv.Itoa(i) + ": "
		fill := max(1, min(line, n-b.Len())-len(name)-len("\r\n"))
		b.WriteString(name + strings.Repeat("a", fill) + "\r\n")
	}
	return b.String()
}

// take returns the next request, with seq written into its id if it has one. It is good until the
// pool has gone round.
func (p *pool) take(seq uint64) []byte {
	i := p.next
	if p.next++; p.next == len(p.ends) {
		p.next = 0
	}
	start := 0
	if i > 0 {
		start = p.ends[i-1]
	}
	if len(p.ids) > 0 {
		putHex(p.data[p.ids[i]:p.ids[i]+idDigits], seq)
	}
	return p.data[start:p.ends[i]]
}

func putHex(dst []byte, v uint64) {
	const digits = "0123456789abcdef"
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = digits[v&0xf]
		v >>= 4
	}
}

// replyID finds the id in a reply's first line: in front of a verdict, or wherever an echo left it.
// An echo sends the request back, in which the id is last; a verdict has it first.
func replyID(reply []byte) (uint64, bool) {
	at := bytes.Index(reply, []byte("id="))
	if at < 0 || len(reply) < at+3+idDigits {
		return 0, false
	}
	id, err := strconv.ParseUint(string(reply[at+3:at+3+idDigits]), 16, 64)
	return id, err == nil
}

// untake gives back the last n requests taken: they were not sent.
func (p *pool) untake(n int) {
	p.next = (p.next - n%len(p.ends) + len(p.ends)) % len(p.ends)
}
