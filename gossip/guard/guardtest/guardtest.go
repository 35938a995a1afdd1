// Package guardtest makes the bytes of memberlist's messages as a member of the cluster "test"
// sends them, and as an attacker would: for the tests of the guard and of whole nodes.
package guardtest

import (
	"bytes"
	"compress/lzw"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"testing"
)

// Label is the label of the cluster.
const Label = "test"

// labelled is the label as it precedes packets and streams.
var labelled = append([]byte{244, byte(len(Label))}, Label...)

// seal encrypts a message as memberlist does: a version, a nonce (always the same here), ciphertext
// and tag.
func seal(t testing.TB, key, plain, auth []byte) []byte {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	sealed := append([]byte{1}, make([]byte, 12)...)
	return gcm.Seal(sealed, sealed[1:], plain, auth)
}

// Stream returns a member's stream: the label, a head, and the sealed message.
func Stream(t testing.TB, key, plain []byte) []byte {
	t.Helper()
	head := binary.BigEndian.AppendUint32([]byte{10}, uint32(1+12+len(plain)+16))
	sealed := seal(t, key, plain, append(head[:5:5], Label...))
	return append(append(bytes.Clone(labelled), head...), sealed...)
}

// Answer returns a member's message in the other direction of a stream, under no label.
func Answer(t testing.TB, key, plain []byte) []byte {
	t.Helper()
	return Stream(t, key, plain)[len(labelled):]
}

// Packet returns a member's packet.
func Packet(t testing.TB, key, plain []byte) []byte {
	t.Helper()
	return append(bytes.Clone(labelled), seal(t, key, plain, []byte(Label))...)
}

// PushPull returns an exchange of states whose header claims so many members and bytes of state,
// and the rest.
func PushPull(members, state uint32, rest []byte) []byte {
	b := append([]byte{6, 0x83, 0xa4}, "Join\xc2\xa5Nodes\xce"...)
	b = append(binary.BigEndian.AppendUint32(b, members), "\xacUserStateLen\xce"...)
	return append(binary.BigEndian.AppendUint32(b, state), rest...)
}

// Bomb returns a compressed message (9, and msgpack {Algo: 0, Buf: data}) that unpacks to size zero
// bytes.
func Bomb(t testing.TB, size int) []byte {
	t.Helper()
	var data bytes.Buffer
	w := lzw.NewWriter(&data, lzw.LSB, 8)
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := append([]byte{9, 0x82, 0xa4}, "Algo\x00\xa3Buf\xda"...)
	b = binary.BigEndian.AppendUint16(b, uint16(data.Len()))
	return append(b, data.Bytes()...)
}
