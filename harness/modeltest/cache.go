package modeltest

import (
	"crypto/sha256"
	"encoding/json"
)

// cache is what a server keeps of the prompts it has read, and counts as the
// provider does; a token is four bytes.
type cache struct {
	prompts [][]byte                  // of an automatic cache
	written map[[sha256.Size]byte]int // of one with marks: tokens, by what stands up to a mark
}

// block is a piece of a prompt, which may have a mark of the cache at its end.
type block struct {
	text []byte
	mark bool
}

const (
	bytesPerToken = 4
	leastCached   = 1024 // tokens; what is shorter is not kept
	cacheStep     = 128  // tokens by which an automatic cache counts
	lookBack      = 20   // blocks before a mark that are tried, too
)

// marked counts a prompt that says itself what is to be kept.
func (c *cache) marked(blocks []block) (u Usage) {
	if c.written == nil {
		c.written = map[[sha256.Size]byte]int{}
	}
	sums, ends := make([][sha256.Size]byte, len(blocks)), make([]int, len(blocks))
	var sum [sha256.Size]byte
	size, read, last := 0, 0, 0
	for i, b := range blocks {
		sum = sha256.Sum256(append(sum[:], b.text...))
		size += len(b.text)
		sums[i], ends[i] = sum, size/bytesPerToken
		if !b.mark || ends[i] < leastCached {
			continue
		}
		last = ends[i]
		for j := i; j >= max(0, i-lookBack); j-- {
			if n, ok := c.written[sums[j]]; ok {
				read = max(read, n)
			}
		}
	}
	for i, b := range blocks {
		if b.mark && ends[i] >= leastCached {
			c.written[sums[i]] = ends[i]
		}
	}
	return Usage{Input: size/bytesPerToken - last, CacheRead: read, CacheWrite: last - read}
}

// automatic counts a prompt of which the server keeps all.
func (c *cache) automatic(blocks []block) Usage {
	var prompt []byte
	for _, b := range blocks {
		prompt = append(prompt, b.text...)
	}
	read := 0
	for _, p := range c.prompts {
		n := 0
		for n < min(len(p), len(prompt)) && p[n] == prompt[n] {
			n++
		}
		if n /= bytesPerToken; n >= leastCached {
			read = max(read, n/cacheStep*cacheStep)
		}
	}
	c.prompts = append(c.prompts, prompt)
	return Usage{Input: len(prompt)/bytesPerToken - read, CacheRead: read}
}

// blocksOf takes the blocks out of JSON values, without their marks.
func blocksOf(values ...any) (out []block) {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
		case []any:
			out = append(out, blocksOf(v...)...)
		default:
			m, isMap := v.(map[string]any)
			b := block{mark: isMap && m["cache_control"] != nil}
			delete(m, "cache_control")
			b.text, _ = json.Marshal(v) // it was JSON before
			out = append(out, b)
		}
	}
	return out
}

// cached implements protocol: tools, system prompt and messages, in this order.
// How the model is to think comes before the messages, which are kept only
// while that stays the same.
func (*anthropicAPI) cached(c *cache, body []byte) Usage {
	var r struct {
		Tools, System, Thinking any
		Messages                []struct {
			Role    string
			Content []any
		}
	}
	_ = json.Unmarshal(body, &r) // it was checked before
	blocks := blocksOf(r.Tools, r.System, r.Thinking)
	for _, m := range r.Messages {
		blocks = append(blocks, block{text: []byte(m.Role)})
		blocks = append(blocks, blocksOf(m.Content)...)
	}
	return c.marked(blocks)
}

func (openAI) cached(c *cache, body []byte) Usage {
	var r struct{ Tools, Messages any }
	_ = json.Unmarshal(body, &r) // it was checked before
	return c.automatic(blocksOf(r.Tools, r.Messages))
}

func (*responsesAPI) cached(c *cache, body []byte) Usage {
	var r struct{ Tools, Instructions, Input any }
	_ = json.Unmarshal(body, &r) // it was checked before
	return c.automatic(blocksOf(r.Tools, r.Instructions, r.Input))
}
