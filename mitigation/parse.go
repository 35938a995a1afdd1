package mitigation

import "slices"

// ParseKind returns the kind called name, and false if unknown.
func ParseKind(name string) (Kind, bool) {
	return parse[Kind](kindNames[:], name)
}

// ParseCounts returns the counts called name, and false if unknown.
func ParseCounts(name string) (Counts, bool) {
	return parse[Counts](countsNames[:], name)
}

// ParseMode returns the mode called name, and false if unknown.
func ParseMode(name string) (Mode, bool) {
	return parse[Mode](modeNames[:], name)
}

// ParseScope returns the scope called name, and false if unknown.
func ParseScope(name string) (Scope, bool) {
	return parse[Scope](scopeNames[:], name)
}

// ParseAction returns the action called name, and false if unknown.
func ParseAction(name string) (Action, bool) {
	return parse[Action](actionNames[:], name)
}

// ParseFailureMode returns the failure mode called name, and false if unknown.
func ParseFailureMode(name string) (FailureMode, bool) {
	return parse[FailureMode](failureNames[:], name)
}

// ParseFairness returns the fairness called name, and false if unknown.
func ParseFairness(name string) (Fairness, bool) {
	return parse[Fairness](fairNames[:], name)
}

// parse returns the place of name among names, and false if there is none.
func parse[T ~uint8](names []string, name string) (T, bool) {
	i := slices.Index(names, name)
	return T(max(i, 0)), i >= 0
}
