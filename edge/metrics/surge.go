package metrics

// surgeFamilies are the families of surges.
var surgeFamilies = []family{
	{
		"surge_state", "state",
		"1 for the state: off, learning, quiet, few, crowd or attack; else 0.",
	},
	{"surge_sampled_total", "", "Whole requests kept to compare with usual ones."},
	{"surge_lost_total", "", "Whole requests drawn and not kept, because a look was under way."},
	{"surge_rows", "list", "Requests that a look compares: now, and usual."},
	{
		"surge_requests", "list",
		"Requests a second that a look compares, now and usual: of a client, four of the sample " +
			"at most.",
	},
	{"surge_look_seconds", "", "How long the last look took."},
	{"surge_findings_total", "kind", "Findings begun: attack, crowd or few."},
	{
		"surge_excess_requests", "",
		"Requests a second beyond usual traffic, of the findings that are not over.",
	},
	{"surge_applied", "mode", "Policies of findings in force."},
	{
		"surge_ignored_total", "",
		"Files of usual traffic that could not be used at the start: it is learnt again.",
	},
}

// collectSurge sends the values of surges.
func (c *collector) collectSurge(to scrape) {
	if c.Surge == nil {
		return
	}
	v := c.Surge()
	for _, state := range [...]string{"off", "learning", "quiet", "few", "crowd", "attack"} {
		put(to, "surge_state", flagOf(v.State == state), state)
	}
	put(to, "surge_sampled_total", v.Sampled)
	put(to, "surge_lost_total", v.Lost)
	put(to, "surge_rows", v.Sample.Rows, "now")
	put(to, "surge_rows", v.Learning.Rows, "usual")
	put(to, "surge_requests", v.Rate.Now, "now")
	put(to, "surge_requests", v.Rate.Usual, "usual")
	put(to, "surge_look_seconds", v.Look)
	for _, kind := range [...]string{"attack", "crowd", "few"} {
		put(to, "surge_findings_total", v.Begun[kind], kind)
	}
	excess := 0.0
	for i := range v.Findings {
		if f := &v.Findings[i]; !f.Over && f.Excess != nil {
			excess += f.Excess.Rate
		}
	}
	put(to, "surge_excess_requests", excess)
	applied := map[string]int{}
	for _, mode := range v.Applied {
		applied[mode]++
	}
	for _, mode := range [...]string{"shadow", "enforce"} {
		put(to, "surge_applied", applied[mode], mode)
	}
	put(to, "surge_ignored_total", v.Ignored)
}
