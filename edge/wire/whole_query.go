package wire

// AppendField appends a field of an ask or a report, " name=value", with the value percent-encoded as
// keys are. If that takes more than most bytes, it appends as much of the value as fits.
func AppendField(dst []byte, name, value string, most int) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(append(append(dst, ' '), name...), '=')
	for i := 0; i < len(value) && most > 0; i++ {
		if class[value[i]]&inKey != 0 {
			dst = append(dst, value[i])
			most--
			continue
		}
		if most -= len("%00"); most < 0 {
			break
		}
		dst = append(dst, '%', hex[value[i]>>4], hex[value[i]&15])
	}
	return dst
}
