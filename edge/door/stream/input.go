package stream

import "github.com/headgate-dev/headgate/edge/door/budget"

// firstInput is the size of an Input's own buffer, bytes.
const firstInput = 4 << 10

// Input holds the bytes a connection has received and its door has not used yet. The first buffer
// is its own; the memory of a larger unit is of the budget, until that unit is used. It is for a
// single goroutine.
type Input struct {
	Loan budget.Loan
	Most int // bytes of the longest unit; the door refuses a longer one before it has come

	buf  []byte
	have int
}

// Received returns the bytes. They hold until Use or Fit.
func (i *Input) Received() []byte { return i.buf[:i.have] }

// Room returns memory for the next bytes, at least 1 after Fit.
func (i *Input) Room() []byte {
	if i.buf == nil {
		i.buf = make([]byte, firstInput)
	}
	return i.buf[i.have:]
}

// Arrived says that n bytes were read into Room.
func (i *Input) Arrived(n int) { i.have += n }

// Use says that the first n bytes are done with.
func (i *Input) Use(n int) { i.have = copy(i.buf, i.buf[n:i.have]) }

// Fit makes room for the rest of a unit that fills the buffer, or gives the room of a used unit
// back. It waits for the budget, and reports whether there is room.
func (i *Input) Fit() bool {
	size := firstInput
	switch {
	case i.have == len(i.buf):
		// doubled, so a large unit is copied a few times and not once a read
		size = min(2*len(i.buf), i.Most)
	case i.have > 0 || len(i.buf) == firstInput:
		return true
	}
	if !i.Loan.Add(int64(size - len(i.buf))) {
		return false
	}
	buf := make([]byte, size)
	copy(buf, i.Received())
	i.buf = buf
	return true
}
