//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// maxSilences is how many timeouts in a row, without any reply, end the run.
const maxSilences = 5

// spinsPerClock is how many empty rounds pass between two looks at the clock.
// The core is needed for sending: the clock is not read in each empty round.
const spinsPerClock = 256

var errSilent = errors.New("the server does not answer")

// flow keeps a window of datagrams outstanding on one socket.
type flow struct {
	opt options
	// Not a net.Conn: sendmmsg(2) and recvmmsg(2) need the descriptor, without Go's poller between.
	fd       int
	requests *pool
	out, in  *batch
	*tally

	start  time.Time
	sentAt []int64 // nanoseconds since start, by sequence number modulo its length; 0: answered
	next   uint64  // sequence number to send
	// A server answers in order on one socket unless packets are lost, which then shows as short.
	oldest   uint64 // without ids: the number the next reply belongs to
	waiting  int    // outstanding
	batch    int    // datagrams worth a send call
	spins    int
	heard    int64 // when the last reply, or the first request after a silence, was
	looked   int64 // when the clock was last looked at while idle
	silences int
}

// runUDP asks over datagrams. It ends with an error when the server refuses or stays silent.
func runUDP(o options) (Report, error) {
	flows := make([]*flow, o.sockets)
	for n := range flows {
		each := o
		// Several sockets stand for several proxies: the kernel deals packets to the readers of a
		// port by their source.
		each.window /= o.sockets
		flows[n] = newFlow(each)
		// One pool for all, so that the draw of keys is the same for any number of sockets.
		flows[n].requests, flows[n].tally = flows[0].requests, flows[0].tally
		if err := flows[n].open(); err != nil {
			return Report{}, err
		}
		defer func() { _ = unix.Close(flows[n].fd) }()
	}
	if err := runAll(flows, o.warmup); err != nil {
		return Report{}, err
	}
	all := newTally()
	for _, f := range flows {
		f.tally = all
	}
	began := startWatch()
	err := runAll(flows, o.requests)
	return all.report(o, began), err
}

// runAll sends n datagrams on flows that share a tally, in turn, and returns when each was answered
// or given up.
func runAll(flows []*flow, n int) error {
	for {
		// Any of them would do: they share the tally.
		left := n - flows[0].done()
		if left <= 0 {
			return nil
		}
		for _, f := range flows {
			left -= f.waiting
		}
		for _, f := range flows {
			sent, err := f.step(left)
			if err != nil {
				return err
			}
			left -= sent
		}
	}
}

func newFlow(o options) *flow {
	slots := 1
	// Twice the window: the number of a late reply must not fall on one that is under way.
	for slots < 2*o.window {
		slots *= 2
	}
	return &flow{
		opt: o, fd: -1, requests: newDatagrams(o), out: newBatch(),
		in: newReplies(), tally: newTally(),
		start: time.Now(), sentAt: make([]int64, slots), batch: min(maxBatch, max(1, o.window/4)),
	}
}

// open connects, or connects anew after a silence: replies that come too late go to the old socket
// and cannot be taken for another's.
func (f *flow) open() error {
	if f.fd >= 0 {
		_ = unix.Close(f.fd)
	}
	var err error
	f.fd, err = dial(f.opt.addr, unix.SOCK_DGRAM)
	return err
}

func (f *flow) now() int64 { return time.Since(f.start).Nanoseconds() }

// run sends n datagrams and returns when each was answered or given up.
func (f *flow) run(n int) error { return runAll([]*flow{f}, n) }

// step sends up to left datagrams, if there is room for a batch of them, and takes the replies that
// are there.
func (f *flow) step(left int) (sent int, err error) {
	if sent, err = f.send(left); err != nil {
		return sent, fmt.Errorf("ask %s: %w", f.opt.addr, err)
	}
	got, err := f.receive()
	if err != nil {
		return sent, fmt.Errorf("receive from %s: %w", f.opt.addr, err)
	}
	if sent+got > 0 || f.waiting == 0 {
		return sent, nil
	}
	return sent, f.idle()
}

// send fills the window, once there is room for a batch worth a system call.
// A quarter of the window at a time: a call for each datagram would make the load the bottleneck.
func (f *flow) send(left int) (int, error) {
	n := min(f.opt.window-f.waiting, left)
	if n < min(f.batch, left) || n <= 0 {
		return 0, nil
	}
	n = min(n, f.batch)
	for i := range n {
		f.out.set(i, f.requests.take(f.next+uint64(i)))
	}
	now := f.now()
	sent, err := f.out.send(f.fd, n)
	f.requests.untake(n - sent)
	// Silence begins with a question: before it the server had nothing to answer.
	if f.waiting == 0 {
		f.heard = now
	}
	for range sent {
		f.sentAt[f.slot(f.next)] = now
		f.next++
	}
	f.waiting += sent
	return sent, err
}

// The length is a power of two (see newFlow), so that the remainder is a mask.
func (f *flow) slot(seq uint64) int { return int(seq) & (len(f.sentAt) - 1) }

// receive reads the replies that have come.
func (f *flow) receive() (int, error) {
	n, err := f.in.receive(f.fd)
	if n == 0 {
		return 0, err
	}
	f.heard, f.silences = f.now(), 0
	for i := range n {
		f.take(f.in.reply(i))
	}
	return n, nil
}

// take matches one reply with its request, and counts it by its verdict.
func (f *flow) take(reply []byte) {
	seq := f.oldest
	if f.opt.ids {
		id, ok := replyID(reply)
		if !ok {
			f.short++
			return
		}
		seq = id
	}
	at := f.slot(seq)
	if f.waiting == 0 || f.sentAt[at] == 0 {
		f.short++ // nobody asked, or it was answered before
		return
	}
	f.answer(f.heard - f.sentAt[at])
	f.sentAt[at] = 0
	f.oldest++
	f.waiting--
	before := f.verdicts.total()
	if f.verdicts.addReply(reply); f.verdicts.total()-before != f.opt.checks {
		f.short++
	}
}

// idle looks at the clock now and then, and gives up requests that have waited too long.
// All that is outstanding is given up together: without ids nobody can say which of them was lost.
func (f *flow) idle() error {
	if f.spins++; f.spins%spinsPerClock != 0 {
		return nil
	}
	if f.present(); f.looked-f.heard < f.opt.timeout.Nanoseconds() {
		return nil
	}
	if f.silences++; f.silences >= maxSilences {
		return fmt.Errorf("%w: %s, %d timeouts of %v in a row", errSilent, f.opt.addr,
			f.silences, f.opt.timeout)
	}
	f.lost += f.waiting
	f.waiting = 0
	clear(f.sentAt)
	f.oldest = f.next
	f.heard = f.now()
	return f.open()
}

// present reads the clock into looked. A gap between two looks far above the time of one spin means
// that this process had no core meanwhile: that was no silence of the server's, whose replies may
// lie in the socket by now.
func (f *flow) present() {
	now := f.now()
	if since := now - max(f.looked, f.heard); since > f.opt.timeout.Nanoseconds()/10 {
		f.heard += since
	}
	f.looked = now
}
