package ring

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

const (
	// chunkOps is how many operations are written before their answers are read. All answers to a
	// chunk fit into the smallest receive buffer that systems give a connection, so that neither
	// side waits for the other to read.
	chunkOps = 512
	// lineBytes bounds a line of an answer, its end included; the longest that is understood has
	// 62.
	lineBytes = 128
	// readBytes is the read buffer of a connection, and the most that is read ahead.
	readBytes = 16 << 10
	// totalDigits is the length of the largest counter, 2^64-1.
	totalDigits = 20
)

// Complaints are lines that fail one operation, in either protocol, and leave the connection good.
// Any other unexpected line ends the connection.
const (
	// nonNumeric is memcached's complaint about a counter that is not a number: anybody may have
	// written one.
	nonNumeric = "CLIENT_ERROR cannot increment or decrement non-numeric value"
	// serverError begins memcached's complaint when it is out of memory, and twemproxy's when a
	// server behind it is away.
	serverError = "SERVER_ERROR "
)

// complaint returns the error of an operation for a line that is a complaint, or nil.
func complaint(line []byte) error {
	switch {
	case string(line) == nonNumeric:
		return ErrValue
	case bytes.HasPrefix(line, []byte(serverError)):
		return fmt.Errorf("%w: %q", ErrServer, line[len(serverError):])
	default:
		return nil
	}
}

// pipeline speaks memcached's meta commands on one connection, many at a time:
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

// probe reports whether the server understands meta commands, within ctx. One that does not closes
// the connection, as twemproxy does, or answers something else, as memcached before 1.6. Neither is
// an error.
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
	total, err := readReply(p.in, number)
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

// valueIn returns the value that text begins with, if it is the answer VA to the command with that
// number and in text as a whole, and the answer's size; else size 0. It accepts nothing that
// readReply would not.
//
//	VA <digits> O<number>\r\n<value>\r\n
func valueIn(text []byte, number uint32) (total uint64, size int) {
	if len(text) < len("VA 1 O") || string(text[:3]) != "VA " {
		return 0, 0
	}
	at := 3
	digits, at := decimal(text, at)
	if digits == 0 || digits > totalDigits-1 || at+2 > len(text) || text[at] != ' ' || text[at+1] != 'O' {
		return 0, 0
	}
	from := at + 2
	answers, at := decimal(text, from)
	if at == from || answers != uint64(number) || at+2 > len(text) || text[at] != '\r' || text[at+1] != '\n' {
		return 0, 0
	}
	first := at + 2
	end := first + int(digits) //nolint:gosec // below totalDigits
	if end+2 > len(text) || text[end] != '\r' || text[end+1] != '\n' {
		return 0, 0
	}
	for _, c := range text[first:end] {
		if c -= '0'; c > 9 {
			return 0, 0
		}
		total = 10*total + uint64(c) // below 10^19
	}
	return total, end + 2
}

// decimal reads the digits at text[at:] as a number without leading zeros, and returns it and the
// index behind it: at itself, and 0, if that is not what stands there or it has ten digits and more.
func decimal(text []byte, at int) (n uint64, end int) {
	end = at
	for end < len(text) && text[end]-'0' <= 9 {
		n = 10*n + uint64(text[end]-'0')
		if end++; end-at > 10 {
			return 0, at
		}
	}
	if end-at > 1 && text[at] == '0' {
		return 0, at
	}
	return n, end
}

// errMissing is the answer that a counter does not exist.
var errMissing = errors.New("ring: no such counter")

// readReply reads the answer to the command with that number. It returns the counter's value,
// errMissing, or a complaint. Any other error ends the connection: ErrReply or the connection's
// own. It reads up to two lines of lineBytes.
func readReply(in *bufio.Reader, number uint32) (total uint64, err error) {
	line, err := readLine(in)
	if err != nil {
		return 0, err
	}
	if err := complaint(line); err != nil {
		return 0, err
	}
	var suffix [len(" O4294967295")]byte
	rest, numbered := bytes.CutSuffix(line, strconv.AppendUint(append(suffix[:0], " O"...), uint64(number), 10))
	length, isValue := bytes.CutPrefix(rest, []byte("VA "))
	switch {
	case numbered && string(rest) == "NF":
		return 0, errMissing
	case numbered && isValue:
		return readTotal(in, string(length))
	default:
		return 0, odd(line)
	}
}

// readTotal reads a value of that announced length.
func readTotal(in *bufio.Reader, length string) (uint64, error) {
	line, err := readLine(in)
	if err != nil {
		return 0, err
	}
	if len(line) == 0 || len(line) > totalDigits || length != strconv.Itoa(len(line)) {
		return 0, odd(line)
	}
	total, err := strconv.ParseUint(string(line), 10, 64)
	if err != nil {
		return 0, odd(line)
	}
	return total, nil
}

// odd returns the error for a line that is not an answer.
func odd(line []byte) error { return fmt.Errorf("%w: %q", ErrReply, line[:min(len(line), lineBytes)]) }

// readLine reads one line of at most lineBytes and returns it without its end; it is valid until
// the next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(line) > lineBytes:
		return nil, odd(line)
	case err != nil:
		return nil, err
	}
	line, ended := bytes.CutSuffix(line, []byte("\r\n"))
	if !ended {
		return nil, odd(line)
	}
	return line, nil
}
