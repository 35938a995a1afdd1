package assignment

// Nodes returns the names of the members in pop, sorted.
func (s *Table) Nodes(pop string) (names []string) {
	if p := s.byPoP[pop]; p != nil {
		for _, at := range p.members {
			names = append(names, s.members[at].Name)
		}
	}
	return names
}
