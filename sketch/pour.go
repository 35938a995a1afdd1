package sketch

// Held is how many sub-windows a cell holds: the running and a whole window before it.
const Held = held

// Pour counts the cost of a key in the last sub-windows all at once, newest first, as of sub-window
// number: for a key counted elsewhere until now. Estimates are never under the truth afterwards
// until a sub-window holds 255. Lock-free; does not allocate.
func (s *Sketch) Pour(i Index, number uint64, units [Held]uint8) {
	for !s.tryPour(i, number, units) {
		for row := range Rows { // a row that has seen a later sub-window: count as of that one
			for word(s.cell(i, row).Load()).ahead(number) {
				number++
				copy(units[1:], units[:])
				units[0] = 0
			}
		}
	}
}

// tryPour is an attempt, void like tryAdd if anybody interfered.
func (s *Sketch) tryPour(i Index, number uint64, units [Held]uint8) bool {
	var old, now [Rows]word
	for row := range Rows {
		old[row] = word(s.cell(i, row).Load())
		if old[row].ahead(number) {
			return false
		}
		now[row] = old[row].roll(number)
	}
	for age := range uint(Held) {
		floor := min(now[0].at(age), now[1].at(age), now[2].at(age), now[3].at(age))
		for row := range now {
			if target := min(floor+uint64(units[age]), maxCount); units[age] > 0 &&
				now[row].at(age) < target {
				now[row] = now[row].set(age, target)
			}
		}
	}
	for row := Rows - 1; row >= 0; row-- { // in the order of tryAdd
		if !swap(s.cell(i, row), old[row], now[row]) {
			return false
		}
	}
	return true
}
