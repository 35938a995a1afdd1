package wire

// AppendField appends a field of an ask or a report, " name=value", with the value percent-encoded
// as keys are. If the value takes more than most bytes so, whole is false, and as much of the value
// is appended as fits.
func AppendField(dst []byte, name, value string, most int) (line []byte, whole bool) {
	const hex = "0123456789ABCDEF"
	dst = append(append(append(dst, ' '), name...), '=')
	for i := range len(value) {
		plain := class[value[i]]&inKey != 0
		if plain {
			most--
		} else {
			most -= len("%00")
		}
		switch {
		case most < 0:
			return dst, false
		case plain:
			dst = append(dst, value[i])
		default:
			dst = append(dst, '%', hex[value[i]>>4], hex[value[i]&15])
		}
	}
	return dst, true
}
