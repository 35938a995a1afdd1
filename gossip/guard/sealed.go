package guard

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
)

// The types of memberlist's messages, in memberlist's order: the first byte of each.
const (
	msgPing = iota
	_       // a ping by way of another member
	msgAck
	_ // suspect
	_ // alive
	_ // dead
	msgPushPull
	msgCompound
	_ // of the user
	msgCompress
	msgEncrypted
	_           // nack
	msgChecksum // a four-byte checksum and a message follow
	msgError
)

// A sealed message: a version, a nonce, and AES-GCM's ciphertext with tag.
const (
	sealVersion = 1 // version 0 is padded; memberlist panics on wrong padding
	nonceBytes  = 12
	tagBytes    = 16
	sealBytes   = 1 + nonceBytes + tagBytes // around a message
)

var (
	errSeal       = errors.New("gossip: not encrypted with one of our keys")
	errEmpty      = errors.New("gossip: empty message")
	errCompressed = errors.New("gossip: compressed message, which no member sends")
	errMessage    = errors.New("gossip: message of another kind or form than members send")
)

// unseal decrypts a message with the first fitting key, and appends the text to dst.
func unseal(dst []byte, keys [][]byte, sealed, auth []byte) ([]byte, error) {
	if len(sealed) < sealBytes || sealed[0] != sealVersion {
		return nil, errSeal
	}
	nonce, text := sealed[1:1+nonceBytes], sealed[1+nonceBytes:]
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			continue // unreachable: the keyring checks lengths
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			continue
		}
		if plain, err := gcm.Open(dst, nonce, text, auth); err == nil {
			return plain, nil
		}
	}
	return nil, errSeal
}

// vetPacket returns the reason for dropping a packet's message; nil for none.
func vetPacket(msg []byte) error {
	if len(msg) >= 5 && msg[0] == msgChecksum {
		msg = msg[5:]
	}
	if len(msg) == 0 {
		return errEmpty
	}
	return vetPart(msg)
}

// vetPart is vetPacket for a message, or for a part of a compound message.
func vetPart(msg []byte) error {
	if len(msg) == 0 {
		return nil
	}
	switch msg[0] {
	case msgCompress:
		return errCompressed
	case msgCompound:
		return vetCompound(msg[1:])
	}
	return nil
}

// vetCompound checks the parts of a compound message: their number, a two-byte length of each, and
// the parts. A truncated message ends with the last complete part.
func vetCompound(msg []byte) error {
	if len(msg) == 0 || len(msg) < 1+2*int(msg[0]) {
		return nil // memberlist drops it
	}
	lengths, rest := msg[1:1+2*int(msg[0])], msg[1+2*int(msg[0]):]
	for ; len(lengths) > 0; lengths = lengths[2:] {
		size := int(binary.BigEndian.Uint16(lengths))
		if size > len(rest) {
			return nil
		}
		if err := vetPart(rest[:size]); err != nil {
			return err
		}
		rest = rest[size:]
	}
	return nil
}

// vetStream returns the reason for dropping a stream's message; nil for none.
func vetStream(msg []byte, maxMembers, maxState int) error {
	if len(msg) == 0 {
		return errEmpty
	}
	switch msg[0] {
	case msgCompress:
		return errCompressed
	case msgPushPull:
		return vetStates(msg[1:], int64(maxMembers), int64(maxState))
	case msgPing, msgAck, msgError:
		if _, ok := skipFields(msg[1:], nil); ok {
			return nil
		}
	}
	return errMessage
}

// vetStates checks a state exchange: a header, a number of members, and the bytes of
// the caller's state.
func vetStates(msg []byte, maxMembers, maxState int64) error {
	var members, state int64
	rest, ok := skipFields(msg, map[string]*int64{"Nodes": &members, "UserStateLen": &state})
	if !ok || members < 0 || members > maxMembers || state < 0 || state > maxState {
		return errMessage
	}
	for range members {
		if rest, ok = skipFields(rest, nil); !ok {
			return errMessage
		}
	}
	if int64(len(rest)) != state {
		return errMessage
	}
	return nil
}
