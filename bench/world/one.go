package main

// onePoP: the step at four nodes of one PoP, whatever the fleet.
func onePoP(f fleet) values {
	f.nodes, f.pops, f.evidence = 4, 1, "counter"
	v := values{}
	w := newWorld(f, step(1, never))
	w.run(warm + 12*second)
	v["four first"], v["four second"] = w.record.mean(warm, warm+second),
		w.record.mean(warm+second, warm+2*second)
	v["four mean"] = w.record.mean(warm+second, warm+11*second)
	return v
}
