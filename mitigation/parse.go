package mitigation

import "slices"

// ParseMode returns the mode called word, and whether there is one.
func ParseMode(word string) (Mode, bool) {
	i := slices.Index(modeNames[:], word)
	return Mode(max(i, 0)), i >= 0
}

// ParseScope returns the scope called word, and whether there is one.
func ParseScope(word string) (Scope, bool) {
	i := slices.Index(scopeNames[:], word)
	return Scope(max(i, 0)), i >= 0
}

// ParseAction returns the action called word, and whether there is one.
func ParseAction(word string) (Action, bool) {
	i := slices.Index(actionNames[:], word)
	return Action(max(i, 0)), i >= 0
}

// ParseFailureMode returns the failure mode called word, and whether there is one.
func ParseFailureMode(word string) (FailureMode, bool) {
	i := slices.Index(failureNames[:], word)
	return FailureMode(max(i, 0)), i >= 0
}
