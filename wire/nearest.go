package wire

// Nearest returns the candidate that a person who typed word most likely
// meant, or "" if none is near: at most a third of the word may be wrong.
func Nearest(word string, candidates []string) string {
	best, limit := "", len([]rune(word))/3+1
	for _, c := range candidates {
		if d := distance(word, c, limit); d <= limit {
			if d < limit || best == "" {
				best, limit = c, d
			}
		}
	}
	return best
}

// distance is the optimal string alignment distance of a and b (an exchange of
// two neighbours counts one); more than limit, without looking, if their lengths
// alone say so.
func distance(a, b string, limit int) int {
	s, t := []rune(a), []rune(b)
	if d := len(s) - len(t); d > limit || -d > limit {
		return limit + 1
	}
	var before, last []int
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		before, last, row = last, row, make([]int, len(t)+1)
		row[0] = i + 1
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(t)]
}
