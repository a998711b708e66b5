package pretrained

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// rope describes how the angles of the positions were changed for texts longer than those of the
// first training. It is read from rope_scaling or rope_parameters of config.json. The formulas
// are those of Hugging Face's transformers.
type rope struct {
	kind   string
	path   string // path of the object in config.json
	factor float64

	// original is the length of texts in the first training.
	original float64

	// llama3: rotations over the original length between which the factors are mixed
	low, high float64
	// yarn: β_fast, the larger number of rotations between which the factors are mixed
	fast     float64
	slow     float64 // yarn: β_slow, the smaller number of rotations
	truncate bool    // yarn: round the bounds of the mixing range to whole numbers
	scale    float64 // yarn: factor of cosines and sines
}

const (
	ropeDefault = "default"
	ropeLinear  = "linear"
	ropeDynamic = "dynamic"
	ropeYarn    = "yarn"
	ropeLlama3  = "llama3"
)

// ropeKeys lists the keys that each kind of scaling may have.
var ropeKeys = map[string][]string{
	ropeDefault: {},
	ropeLinear:  {"factor"},
	ropeDynamic: {"factor", "original_max_position_embeddings"},
	ropeYarn: {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
		"truncate"},
	ropeLlama3: {"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"},
}

// readRope reads the object p at the given path in config.json. If there is no such object, p is
// nil. positions is the largest number of positions in the configuration. The error names the key.
func readRope(path string, p map[string]any, positions int) (rope, error) {
	r := rope{kind: ropeDefault, path: path, factor: 1, original: float64(positions), scale: 1, truncate: true}
	if p == nil {
		return r, nil
	}
	key := "rope_type"
	if _, ok := p[key]; !ok {
		key = "type"
	}
	if v, ok := p[key]; ok {
		kind, isText := v.(string)
		if _, ok := ropeKeys[kind]; !ok || !isText {
			return r, fmt.Errorf("%s.%s = %s, want one of %v", path, key, check.Clip(fmt.Sprint(v)), slices.Sorted(maps.Keys(ropeKeys)))
		}
		r.kind = kind
	}
	for _, k := range slices.Sorted(maps.Keys(p)) {
		known := slices.Contains(ropeKeys[r.kind], k) || slices.Contains([]string{"type", "rope_type", "rope_theta"}, k)
		if !known && p[k] != nil {
			return r, fmt.Errorf("%s.%s = %s, want none with %s = %q, or it would change what the network computes", path, check.Clip(k), check.Clip(fmt.Sprint(p[k])), key, r.kind)
		}
	}
	var err error
	number := func(key string, absent float64) float64 {
		v, ok := p[key]
		if (!ok || v == nil) && absent > 0 {
			return absent
		}
		x, isNumber := v.(float64)
		if err == nil && (!isNumber || !(x > 0) || x > most) {
			err = fmt.Errorf("%s.%s = %s, want a number in (0, %d]", path, key, check.Clip(fmt.Sprint(v)), most)
		}
		return x
	}
	if r.kind != ropeDefault {
		r.factor = number("factor", 0)
	}
	switch r.kind {
	case ropeDynamic:
		r.original = number("original_max_position_embeddings", r.original)
	case ropeLlama3:
		r.original = number("original_max_position_embeddings", 0)
		r.low, r.high = number("low_freq_factor", 0), number("high_freq_factor", 0)
		if err == nil && !(r.low < r.high) {
			err = fmt.Errorf("%s.low_freq_factor = %v, want less than high_freq_factor = %v", path, r.low, r.high)
		}
	case ropeYarn:
		r.original = number("original_max_position_embeddings", r.original)
		r.fast, r.slow = number("beta_fast", 32), number("beta_slow", 1)
		if err == nil && r.fast < r.slow {
			err = fmt.Errorf("%s.beta_fast = %v, want ≥ beta_slow = %v", path, r.fast, r.slow)
		}
		if v, ok := p["truncate"]; ok && v != nil {
			isBool := false
			if r.truncate, isBool = v.(bool); !isBool && err == nil {
				err = fmt.Errorf("%s.truncate = %s, want true or false", path, check.Clip(fmt.Sprint(v)))
			}
		}
		r.scale = temperature(r.factor, 1)
		if a, b := p["mscale"], p["mscale_all_dim"]; a != nil && b != nil {
			r.scale = temperature(r.factor, number("mscale", 0)) / temperature(r.factor, number("mscale_all_dim", 0))
		}
		r.scale = number("attention_factor", r.scale)
	}
	if err == nil && r.kind != ropeDefault && r.factor < 1 {
		err = fmt.Errorf("%s.factor = %v, want ≥ 1", path, r.factor)
	}
	return r, err
}

// temperature returns the factor of cosines and sines that Peng et al. 2023 recommend for texts
// that are factor times as long as in the first training.
func temperature(factor, scale float64) float64 {
	if factor <= 1 {
		return 1
	}
	return float64(0.1*scale*math.Log(factor)) + 1
}

// longest returns the largest number of positions of a network, given the number in its
// configuration.
func (r rope) longest(positions int) int {
	switch r.kind {
	case ropeDynamic, ropeYarn:
		return max(positions, int(r.factor*r.original))
	}
	return positions
}

// rotary returns the rotation for length positions and heads of dim entries.
func (r rope) rotary(length, dim int, base float64) *layer.Rotary {
	if r.kind == ropeDynamic && float64(length) > r.original && dim > 2 {
		base *= math.Pow(r.factor*float64(length)/r.original-(r.factor-1), float64(dim)/float64(dim-2))
	}
	frequencies := make([]float64, dim/2)
	for j := range frequencies {
		frequencies[j] = r.frequency(j, dim, math.Pow(base, -2*float64(j)/float64(dim)), base)
	}
	return layer.RotaryOf(length, frequencies, r.scale)
}

// frequency returns the scaled angle per position of pair j. f is the unscaled angle.
func (r rope) frequency(j, dim int, f, base float64) float64 {
	switch r.kind {
	case ropeLinear:
		return f / r.factor
	case ropeLlama3:
		turns := r.original * f / (2 * math.Pi)
		mix := min(max((turns-r.low)/(r.high-r.low), 0), 1)
		return float64(mix*f) + (1-mix)*f/r.factor
	case ropeYarn:
		// the pair that makes this number of rotations over the original length
		at := func(turns float64) float64 {
			return float64(dim) * math.Log(r.original/(turns*2*math.Pi)) / (2 * math.Log(base))
		}
		low, high := at(r.fast), at(r.slow)
		if r.truncate {
			low, high = math.Floor(low), math.Ceil(high)
		}
		low, high = max(low, 0), min(high, float64(dim-1))
		if low == high {
			high += 0.001 // as in transformers
		}
		mix := min(max((float64(j)-low)/(high-low), 0), 1)
		return mix*f/r.factor + float64((1-mix)*f)
	}
	return f
}
