package guard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// A stream carries a message in each direction. The message is read whole and checked before
// memberlist: the label, which only the opener sends, a type, four bytes of length, and the sealed
// message.

const (
	// MaxMessage is the longest message of a stream, bytes: 4,000 members and a State. memberlist's
	// own bound is 20 MiB.
	MaxMessage = 1 << 20
	// LargeMessage is the length, bytes, above which a message needs a place for large messages.
	LargeMessage = 64 << 10
	// MaxLarge is the number of places for large messages of incoming streams, and of outgoing
	// streams.
	MaxLarge = 2
)

var (
	errStreamLong  = errors.New("gossip: stream is longer than is taken")
	errStreamLabel = errors.New("gossip: stream of another cluster")
	errStreamPlain = errors.New("gossip: stream is not encrypted")
	errStreamPlace = errors.New("gossip: too many large streams")
)

// message reads and checks the stream's message, and returns the bytes.
func (s *stream) message() ([]byte, error) {
	label := s.g.prefix
	if !s.theirs {
		label = nil // the answering side sends none
	}
	// the length of type and length, bytes.
	head := make([]byte, len(label)+5)
	if _, err := io.ReadFull(s.source(), head); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[len(label)+1:])
	switch {
	case !bytes.Equal(head[:len(label)], label):
		return nil, errStreamLabel
	case head[len(label)] != msgEncrypted:
		return nil, errStreamPlain
	case size > MaxMessage:
		return nil, errStreamLong
	case size > LargeMessage:
		if err := s.g.enter(s); err != nil {
			return nil, err
		}
	}
	whole := append(make([]byte, 0, len(head)+int(size)), head...)[:len(head)+int(size)]
	if _, err := io.ReadFull(s.source(), whole[len(head):]); err != nil {
		return nil, err
	}
	return whole, s.vet(head[len(label):], whole[len(head):])
}

// vet returns the reason for dropping the sealed message after head; nil for none.
func (s *stream) vet(head, sealed []byte) error {
	auth := append([]byte(nil), head...)
	if len(s.g.prefix) > 0 {
		auth = append(auth, s.g.prefix[2:]...) // the label alone
	}
	plain, err := unseal(nil, s.g.o.Keys(), sealed, auth)
	if err != nil {
		return err
	}
	return vetStream(plain, s.g.o.MaxMembers, s.g.o.MaxState)
}

// enter waits for a place for a large message, held by s until the close.
func (g *Guard) enter(s *stream) error {
	late := time.After(StreamTimeout)
	for {
		g.mu.Lock()
		room, freed := g.roomy(s), g.freed
		s.large = room
		g.mu.Unlock()
		if room {
			return nil
		}
		select {
		case <-freed:
		case <-late:
			return errStreamPlace
		case <-g.ctx.Done():
			return ErrClosed
		}
	}
}

// roomy reports whether there is a place for a large message of s. The caller holds mu.
func (g *Guard) roomy(s *stream) bool {
	all, same := 0, 0
	for other := range g.open {
		beside := other.large && other.theirs == s.theirs
		all += number(beside)
		same += number(beside && other.host == s.host)
	}
	// the number of such places for an address.
	return all < MaxLarge && same < 1
}
