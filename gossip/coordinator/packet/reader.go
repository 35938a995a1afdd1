package packet

import "encoding/binary"

// Reader reads the parts of a packet. After the first fault Bad stays true, and reads are zeroes.
type Reader struct {
	Rest []byte // to read
	Bad  bool
}

// Take reads n bytes; nil: there are fewer.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.Rest) {
		r.Bad, r.Rest = true, nil
		return nil
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint32 reads 4 bytes, the lowest first.
func (r *Reader) Uint32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uvarint reads a number of 1 to 10 bytes.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 {
		r.Bad, r.Rest = true, nil
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Varint reads a signed number of 1 to 10 bytes: the lowest bit is the sign.
func (r *Reader) Varint() int64 {
	u := r.Uvarint()
	return int64(u>>1) ^ -int64(u&1) // two halves of 64 bits
}

// Text reads a text of up to 255 bytes, after the length.
func (r *Reader) Text() string { return string(r.Take(int(r.Byte()))) }
