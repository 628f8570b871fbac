package wire

import "strings"

// SessionKey names a session of a conversation across the platforms:
// conversation, or conversation:suffix.
func SessionKey(conversation, suffix string) string {
	if suffix == "" {
		return conversation
	}
	return conversation + ":" + suffix
}

// SessionKeySuffix is the suffix of a session key of a conversation; ok is false
// for a key of another one.
func SessionKeySuffix(conversation, key string) (suffix string, ok bool) {
	rest, ok := strings.CutPrefix(key, conversation)
	if !ok || rest == "" {
		return "", ok
	}
	suffix, ok = strings.CutPrefix(rest, ":")
	return suffix, ok && suffix != ""
}
