package ring

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

const (
	// chunkOps is how many operations are written before their answers are read. All answers to a
	// chunk fit into the smallest receive buffer of systems, so neither side waits for the other to
	// read.
	chunkOps = 512
	// readBytes is the read buffer of a connection, and the most read ahead.
	readBytes = 16 << 10
)

// pipeline speaks memcached's meta commands on a single connection, many at a time:
//
//	ma KEY N60 J5 D5 v O7      add 5, or create with 5 for 60 s; tell the value; call the answer 7
//	ma KEY D0 v O8             look
//	VA 1 O7 / 5 / NF O8        the answers: a value of 1 byte, the value; none
type pipeline struct {
	conn   net.Conn
	in     *bufio.Reader
	out    []byte
	number uint32 // of the next command; wraps
}

func newPipeline(conn net.Conn) *pipeline {
	return &pipeline{conn: conn, in: bufio.NewReaderSize(conn, readBytes)}
}

func (*pipeline) protocol() string { return "meta" }

func (p *pipeline) ready() bool { return p.in.Buffered() == 0 && quiet(p.conn) }

func (p *pipeline) close() { _ = p.conn.Close() }

// interrupt makes reads and writes on the connection fail when ctx ends, until stop. If stop
// returns false that may still happen later.
func (p *pipeline) interrupt(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = p.conn.SetDeadline(longAgo) })
}

// probe reports whether the server understands meta commands, within ctx. Other servers close the
// connection, as twemproxy does, or answer something else, as memcached before 1.6. Neither is an
// error.
func (p *pipeline) probe(ctx context.Context) (understood bool, err error) {
	stop := p.interrupt(ctx)
	if _, err := p.conn.Write([]byte("mn\r\n")); err == nil {
		line, err := readLine(p.in)
		understood = err == nil && string(line) == "MN"
	}
	if !stop() { // the deadline of ctx interrupts too
		return false, fmt.Errorf("probe: %w", ctx.Err())
	}
	return understood && p.in.Buffered() == 0, nil
}

func (p *pipeline) exchange(r *round) error {
	stop := p.interrupt(r.ctx)
	err := p.chunks(r)
	if !stop() {
		return r.ctx.Err()
	}
	return err
}

// chunks exchanges the operations of a round chunk by chunk.
func (p *pipeline) chunks(r *round) error {
	for ops := r.ops; len(ops) > 0; {
		if r.late() {
			return ErrLate
		}
		if err := begin(r.ctx, p.conn, r.timeout); err != nil {
			return err
		}
		n := min(len(ops), chunkOps)
		if err := p.chunk(ops[:n]); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// chunk writes operations and reads their answers.
func (p *pipeline) chunk(ops []*Op) error {
	p.out = p.out[:0]
	first := p.number
	for _, op := range ops {
		p.out = appendCommand(p.out, op, p.number)
		p.number++
		op.Sent = true // a write that fails may have arrived in part
	}
	if _, err := p.conn.Write(p.out); err != nil {
		return err
	}
	for i, op := range ops {
		if err := p.answer(op, first+uint32(i)); err != nil {
			return err
		}
	}
	if p.in.Buffered() > 0 {
		return fmt.Errorf("%w: more than was asked", ErrReply)
	}
	return nil
}

// appendCommand appends the command for op.
func appendCommand(to []byte, op *Op, number uint32) []byte {
	to = append(to, "ma "...)
	to = append(to, op.Key[:]...)
	if op.Delta > 0 {
		to = strconv.AppendUint(append(to, " N"...), uint64(op.TTL), 10)
		to = strconv.AppendUint(append(to, " J"...), op.Delta, 10)
	}
	to = strconv.AppendUint(append(to, " D"...), op.Delta, 10)
	to = strconv.AppendUint(append(to, " v O"...), uint64(number), 10)
	return append(to, "\r\n"...)
}

// answer reads the answer to op. An error leaves op unanswered and the connection useless.
func (p *pipeline) answer(op *Op, number uint32) error {
	ahead, _ := p.in.Peek(p.in.Buffered()) // no error, for it is there
	if total, size := valueIn(ahead, number); size > 0 {
		_, _ = p.in.Discard(size)
		op.settle(total)
		return nil
	}
	total, err := readValue(p.in, number)
	switch {
	case errors.Is(err, ErrValue):
		op.refuse(err)
	case errors.Is(err, ErrServer):
		op.Err = err
	case errors.Is(err, errMissing):
		if op.Delta > 0 {
			return fmt.Errorf("%w: not found what was to be created", ErrReply)
		}
		op.settle(0)
	case err != nil:
		return err
	default:
		op.settle(total)
	}
	return nil
}
