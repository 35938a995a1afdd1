package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// The numbers the traffic is made from. They give 6.7 million requests a window of a minute, 25 for
// each source in the mean, where a limit of 600 is 24 times the mean: nearly all sources are far
// below it, and the interesting ones are few, as at a real edge.
const (
	sourceCount = 270_000
	overallRate = 111_111.0 // requests a second, attackers included
	normalShare = 0.85      // of overallRate, by sources with log-normal weights
	attackShare = 0.10      // of overallRate, by attackers
	attackTop   = 20.0      // limits an attacker reaches at most
	// of the tail: P(weight > x) = x^-1.2, a mean of 6, an infinite variance
	paretoShape  = 1.2
	paretoTop    = 20_000.0 // the largest weight, or one source could be all traffic
	burstLow     = 0.5      // limits a burst's rate starts from
	burstSpread  = 16.0     // and how much above that it may lie
	burstSeconds = 8.0      // mean length
	pulseSources = 2_000
	pulseSize    = 1.5 // limits in one pulse
	pulseShort   = 20 * time.Millisecond
	pulseLong    = 500 * time.Millisecond
	pulseEarly   = 0.9 // windows between two pulses, from
	pulseLate    = 1.3 // to
	ruleWindow   = time.Minute
	ruleLimit    = 600
	paretoLimit  = 1_000
)

// profile holds the parameters in which the kinds of traffic differ.
type profile struct {
	limit      int64
	attackFrom float64 // limits an attacker begins at; 0: no attackers
	bursts     float64 // share of overallRate that bursts aim at, see burst
	pareto     bool
	pulses     int // sources that pulse, on top of the others
}

// profiles are the kinds of traffic by name.
//
//	calm    attackers from 4 limits on, hardly any bursts: nobody is near the limit by design
//	edge    attackers from 1.2 limits on, and 5 % of requests in bursts: many sources near the limit
//	pareto  no attackers but a heavy tail: sources at every distance from the limit
//	pulse   calm, and 2,000 sources that send 1.5 limits within 20 to 500 ms about once a window:
//	        the worst case for a count by sub-windows
var profiles = map[string]profile{
	"calm":   {limit: ruleLimit, attackFrom: 4, bursts: 0.002},
	"edge":   {limit: ruleLimit, attackFrom: 1.2, bursts: 0.05},
	"pareto": {limit: paretoLimit, bursts: 0.05, pareto: true},
	"pulse":  {limit: ruleLimit, attackFrom: 4, bursts: 0.002, pulses: pulseSources},
}

// profileOf returns the profile called name, or an error with the names that exist.
func profileOf(name string) (profile, error) {
	p, ok := profiles[name]
	if !ok {
		return p, fmt.Errorf("-traffic %q is none of calm, edge, pareto, pulse", name)
	}
	return p, nil
}

// perSecond is the limit as a rate.
func (p profile) perSecond() float64 { return float64(p.limit) / ruleWindow.Seconds() }

// rates draws every source's mean rate, requests per second, and returns them with the number of
// attackers among them. Weights are log-normal with sigma 1, or Pareto, scaled so that all sources
// together send normalShare (Pareto: all) of overallRate.
func (p profile) rates(dice *rand.Rand) (rates []float64, attackers int) {
	rates = make([]float64, sourceCount)
	total := overallRate * normalShare
	weight := func() float64 { return math.Exp(dice.NormFloat64()) }
	if p.pareto {
		total = overallRate
		weight = func() float64 {
			return min(math.Pow(1-dice.Float64(), -1/paretoShape),
				paretoTop)
		}
	}
	sum := 0.0
	for i := range rates {
		rates[i] = weight()
		sum += rates[i]
	}
	for i := range rates {
		rates[i] *= total / sum
	}
	if p.attackFrom > 0 {
		attackers = p.attack(dice, rates)
	}
	return rates, attackers
}

// attack gives random sources a rate above the limit until the attackers' share is spent, and
// returns their number. Rates are log-uniform from attackFrom to attackTop limits, so that as many
// attackers are between 2 and 4 limits as between 4 and 8:
//
//	rate = limit/window · from · (top/from)^u,  u uniform in 0..1
func (p profile) attack(dice *rand.Rand, rates []float64) (attackers int) {
	chosen := make(map[int]bool)
	for left := overallRate * attackShare; left > 0; {
		rate := p.perSecond() * p.attackFrom * math.Pow(attackTop/p.attackFrom, dice.Float64())
		rate = min(rate, max(left, p.perSecond()*p.attackFrom)) // the last one takes what is left
		i := dice.IntN(len(rates))
		if chosen[i] {
			continue
		}
		chosen[i] = true
		rates[i] = rate
		left -= rate
	}
	return len(chosen)
}

// census is how many sources send more than a share of the limit in the mean: the numbers by which
// a rebuilt traffic is known to be the same.
type census struct {
	Above16th int     `json:"above_limit_16th"`
	Above10th int     `json:"above_limit_10th"`
	Above8th  int     `json:"above_limit_8th"`
	Above4th  int     `json:"above_limit_4th"`
	AboveHalf int     `json:"above_limit_half"`
	Above     int     `json:"above_limit"`
	Near      int     `json:"within_10_percent"`
	Base      float64 `json:"base_per_second"`
	Attackers int     `json:"attackers"`
}

// census counts rates, one for each source, by their share of the limit. Base is their sum: the
// requests a second without bursts and pulses.
func (p profile) census(rates []float64, attackers int) census {
	c := census{Attackers: attackers}
	for _, rate := range rates {
		share := rate / p.perSecond()
		for _, mark := range []struct {
			above float64
			count *int
		}{
			{1.0 / 16, &c.Above16th},
			{1.0 / 10, &c.Above10th},
			{1.0 / 8, &c.Above8th},
			{1.0 / 4, &c.Above4th},
			{1.0 / 2, &c.AboveHalf},
			{1, &c.Above},
		} {
			if share > mark.above {
				*mark.count++
			}
		}
		if share >= 0.9 && share <= 1.1 {
			c.Near++
		}
		c.Base += rate
	}
	return c
}
