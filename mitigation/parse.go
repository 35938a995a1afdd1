package mitigation

import "slices"

// ParseKind returns the kind called name, and false if unknown.
func ParseKind(name string) (Kind, bool) {
	i := slices.Index(kindNames[:], name)
	return Kind(max(i, 0)), i >= 0
}

// ParseCounts returns the counts called name, and false if unknown.
func ParseCounts(name string) (Counts, bool) {
	i := slices.Index(countsNames[:], name)
	return Counts(max(i, 0)), i >= 0
}

// ParseMode returns the mode called name, and false if unknown.
func ParseMode(name string) (Mode, bool) {
	i := slices.Index(modeNames[:], name)
	return Mode(max(i, 0)), i >= 0
}

// ParseScope returns the scope called name, and false if unknown.
func ParseScope(name string) (Scope, bool) {
	i := slices.Index(scopeNames[:], name)
	return Scope(max(i, 0)), i >= 0
}

// ParseAction returns the action called name, and false if unknown.
func ParseAction(name string) (Action, bool) {
	i := slices.Index(actionNames[:], name)
	return Action(max(i, 0)), i >= 0
}

// ParseFailureMode returns the failure mode called name, and false if unknown.
func ParseFailureMode(name string) (FailureMode, bool) {
	i := slices.Index(failureNames[:], name)
	return FailureMode(max(i, 0)), i >= 0
}

// ParseFairness returns the fairness called name, and false if unknown.
func ParseFairness(name string) (Fairness, bool) {
	i := slices.Index(fairNames[:], name)
	return Fairness(max(i, 0)), i >= 0
}
