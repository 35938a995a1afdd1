package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
)

// pipe carries messages to and from a browser, each ended by a zero byte. A pipe and not a web
// socket: no port others could connect to, and it ends with either process.
type pipe struct {
	mu  sync.Mutex // of writing
	out *os.File
	in  *os.File
	buf *bufio.Reader
}

// startPiped starts cmd with a pipe to write to on its third descriptor, and another to read from
// on its fourth, as --remote-debugging-pipe has it.
func startPiped(cmd *exec.Cmd) (*pipe, error) {
	hears, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, says, err := os.Pipe()
	if err != nil {
		closeAll(hears, out)
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{hears, says}
	err = cmd.Start()
	// The browser has its own copies by now. Ours would keep the pipe open after its end, and read
	// would wait for ever.
	closeAll(hears, says)
	if err != nil {
		closeAll(out, in)
		return nil, err
	}
	return &pipe{out: out, in: in, buf: bufio.NewReaderSize(in, 1<<16)}, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written that could be lost
	}
}

// A single write under the lock, so messages of two tests do not mix.
func (p *pipe) send(m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.out.Write(append(body, 0))
	return err
}

// receive returns the next message; an error when there is none any more.
func (p *pipe) receive() (m message, err error) {
	body, err := p.buf.ReadBytes(0)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(bytes.TrimSuffix(body, []byte{0}), &m)
}

func (p *pipe) close() { closeAll(p.out, p.in) }
