package resp

import "bytes"

// The bounds of a command.
const (
	maxCommand = 64 << 10 // bytes
	// beside the command's name, that are kept; a command with more is an error
	maxArgs  = 16
	leastArg = len("$0\r\n\r\n")
)

// parser takes commands off a buffer. Its arguments lie in the buffer.
// A command is an array of byte strings, *2\r\n$4\r\nPING\r\n$2\r\nhi\r\n, or a line of words.
type parser struct {
	args [1 + maxArgs][]byte
	n    int // arguments of the command and its name, also beyond args; of a line at most mostWords
	// So a large command coming in many small reads is not parsed again with each of them.
	need int // bytes that must be there before it is worth trying again
}

// outcome is the result of an attempt to take a command.
type outcome uint8

const (
	whole  outcome = iota // there is a command; n = 0 is one to skip
	more                  // it goes on: need bytes are wanted
	broken                // where the next one begins is lost
)

// take takes a command off the begin of b, and returns how many bytes it has. It begins anew each
// time: arguments point into the buffer, which may have moved since.
func (p *parser) take(b []byte) (size int, is outcome) {
	p.n, p.need = 0, 0
	line, at, ok := lineOf(b)
	switch {
	case !ok:
		return 0, p.wants(len(b), len(b)+1)
	case len(line) == 0:
		return at, whole
	case line[0] != '*':
		p.inline(line)
		return at, whole
	}
	count, ok := number(line[1:])
	switch {
	// So many arguments could not fit even if all were empty.
	case !ok || count > maxCommand/int64(leastArg):
		return 0, broken
	case count <= 0:
		return at, whole
	}
	for range count {
		arg, end, is := p.argument(b, at)
		if is != whole {
			return 0, is
		}
		// Further arguments are counted and skipped: the command is answered with an error, and the
		// next is found.
		if p.n < len(p.args) {
			p.args[p.n] = arg
		}
		p.n++
		at = end
	}
	if at > maxCommand {
		return 0, broken
	}
	return at, whole
}

// wants notes that size bytes are needed, of which have are there.
func (p *parser) wants(have, size int) outcome {
	if have >= maxCommand || size > maxCommand+1 {
		return broken
	}
	p.need = size
	return more
}

// argument reads the argument beginning at at: its length, its bytes, a line end. Lengths no
// command has lose the framing: behind them anything might be data.
func (p *parser) argument(b []byte, at int) (arg []byte, end int, is outcome) {
	line, size, ok := lineOf(b[at:])
	if !ok {
		return nil, 0, p.wants(len(b), len(b)+1)
	}
	if len(line) < 2 || line[0] != '$' {
		return nil, 0, broken
	}
	length, ok := number(line[1:])
	if !ok || length < 0 || length > maxCommand {
		return nil, 0, broken
	}
	at += size
	end = at + int(length) + len("\r\n")
	switch {
	case end > len(b):
		return nil, 0, p.wants(len(b), end)
	// The length says where the argument ends, and the line end confirms it: else the two sides
	// disagree.
	case b[end-2] != '\r' || b[end-1] != '\n':
		return nil, 0, broken
	}
	return b[at : end-2], end, whole
}

// mostWords is how many words of a line are counted: one more than the longest command has.
const mostWords = 1 + maxArgs + 1

// inline reads a command in a line of words, as a person types it. As in Redis, only blanks of
// ASCII are between words. Without quotes, unlike in Redis: keys with blanks are for programs,
// which send arrays. Behind a word that is no command's name nothing is looked at: the answer is an
// error anyway, and a flood of noise is read as such lines.
func (p *parser) inline(line []byte) {
	for p.n < mostWords {
		word, rest := cutWord(line)
		if len(word) == 0 {
			return
		}
		if p.n < len(p.args) {
			p.args[p.n] = word
		}
		p.n++
		if p.n == 1 && !mayName(word) {
			return
		}
		line = rest
	}
}

// cutWord returns the first word of line, which is empty if there is none, and the rest.
func cutWord(line []byte) (word, rest []byte) {
	begin := 0
	for begin < len(line) && blank(line[begin]) {
		begin++
	}
	end := begin
	for end < len(line) && !blank(line[end]) {
		end++
	}
	return line[begin:end], line[end:]
}

// mayName reports whether a command can be called word: it is short, and of visible characters of
// ASCII.
func mayName(word []byte) bool {
	for _, c := range word[:min(len(word), maxName)] {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return len(word) <= maxName
}

// blank reports whether c is between words.
func blank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// lineOf returns the first line of b without its end, and its size with it.
// A line may end without \r, as people type it.
func lineOf(b []byte) (line []byte, size int, ok bool) {
	at := bytes.IndexByte(b, '\n')
	if at < 0 {
		return nil, 0, false
	}
	return bytes.TrimSuffix(b[:at], []byte{'\r'}), at + 1, true
}

// number reads a whole number in digits, with a sign if it is negative.
func number(b []byte) (n int64, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	const maxDigits = 18 // fits 63 bits
	if len(b) == 0 || len(b) > maxDigits {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
