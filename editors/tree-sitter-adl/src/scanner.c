// Layout of adl: blocks are opened, separated and closed by columns, as the parser of adl does it
// (lang/syntax/src/parser/layout.rs). The scanner keeps the open constructs on a stack. Words and signs that open or
// close one are tokens of the scanner too, so that the stack is complete.

#include "tree_sitter/parser.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wctype.h>

enum Token {
  LINE, OPEN, OPEN_VALUE, OPEN_THEN, OPEN_ARM, OPEN_INIT, OPEN_LET, SEP, ITEM_SEP, CLOSE,
  ARM_BAR, OR_BAR, LPAREN, RPAREN, LBRACK, IDX, RBRACK, LBRACE, RBRACE, LIVERSON, RIVERSON,
  IF, THEN, ELSE, MATCH, WITH, FOR, LOOP_FOR, LOOP, DO, LET, AND, AND_TYPE, IN, EQ, ARROW_FOR, ARROW_ARM,
  TEXT, INTERPOLATED_TEXT, ERROR_SENTINEL,
};

// The kinds of open constructs. Heads end with a certain word: `if` with `then`, `let` with `=`, and so on.
enum Kind { BRACKET, HEAD_IF, HEAD_MATCH, HEAD_FOR, HEAD_ARM, HEAD_LOOP, HEAD_LET, BLOCK, VALUE, THEN_BLOCK, INIT, ARM };

// What comes next.
enum Next {
  N_END, N_WORD, N_OTHER, N_OPERATOR, N_MINUS, N_PUNCT, N_CLOSER, N_COMMA, N_COLON, N_BAR, N_SEMI, N_SEMISEMI, N_EQ, N_ARROW,
  N_OPENER, N_IF, N_THEN, N_ELSE, N_MATCH, N_WITH, N_FOR, N_WHILE, N_LOOP, N_DO, N_LET, N_AND, N_IN, N_WHEN, N_AS,
};

#define NONE 0xFFFF
#define MAX_FRAMES 120

typedef struct {
  uint8_t kind;
  uint8_t mid;
  uint16_t col, base, bar, in_col;
} Frame;

typedef struct {
  uint16_t indent;    // of the present line
  uint16_t bar;       // the column of the last `|` that began a line, while that line lasts
  uint8_t pending;    // a word that the construct of a closed block waits for
  uint8_t count;
  Frame frames[MAX_FRAMES];
} State;

void *tree_sitter_adl_external_scanner_create(void);
void tree_sitter_adl_external_scanner_destroy(void *p);
unsigned tree_sitter_adl_external_scanner_serialize(void *p, char *buffer);
void tree_sitter_adl_external_scanner_deserialize(void *p, const char *buffer, unsigned length);
bool tree_sitter_adl_external_scanner_scan(void *p, TSLexer *lexer, const bool *valid);

#include <stdlib.h>

void *tree_sitter_adl_external_scanner_create(void) {
  State *s = calloc(1, sizeof(State));
  if (s) { s->indent = NONE; s->bar = NONE; }
  return s;
}

void tree_sitter_adl_external_scanner_destroy(void *p) { free(p); }

unsigned tree_sitter_adl_external_scanner_serialize(void *p, char *buffer) {
  State *s = p;
  unsigned head = offsetof(State, frames), n = s->count;
  while (head + n * sizeof(Frame) > TREE_SITTER_SERIALIZATION_BUFFER_SIZE) n--;
  memcpy(buffer, s, head);
  memcpy(buffer + head, s->frames, n * sizeof(Frame));
  return head + n * sizeof(Frame);
}

void tree_sitter_adl_external_scanner_deserialize(void *p, const char *buffer, unsigned length) {
  State *s = p;
  memset(s, 0, sizeof(State));
  s->indent = NONE;
  s->bar = NONE;
  if (length == 0) return;
  memcpy(s, buffer, length);
  unsigned head = offsetof(State, frames);
  s->count = (length - head) / sizeof(Frame);
}

static bool in_name(int32_t c) { return iswalnum(c) || c == '_' || c == '\'' || c > 0x2070; }

static Frame *top(State *s) { return s->count ? &s->frames[s->count - 1] : NULL; }

static bool is_block(const Frame *f) { return f && f->kind >= BLOCK; }

static void push(State *s, uint8_t kind) {
  if (s->count == MAX_FRAMES) return;
  uint16_t bar = s->count ? s->frames[s->count - 1].bar : NONE;
  if (kind == BRACKET) bar = NONE;
  s->frames[s->count++] = (Frame){kind, 0, 0, 0, bar, NONE};
}

static void pop(State *s) { if (s->count) s->count--; }

// Reads the next word or sign. The lexer is moved, but the end of the token stays where it was marked.
// `read`: a sign that was passed already, or 0.
static uint8_t next_token(TSLexer *l, int32_t read, bool *spaced_after) {
  int32_t c = read ? read : l->lookahead;
  *spaced_after = false;
  if (!read && l->eof(l)) return N_END;
  if (c == 'f') {
    l->advance(l, false);
    if (l->lookahead == '"') return N_OTHER;
  }
  if (iswalpha(c) || c == '_' || c > 0x2070) {
    char word[8] = {0};
    unsigned n = 0;
    if (c == 'f') word[n++] = 'f';
    while (in_name(l->lookahead) && !l->eof(l)) {
      if (n < 7) word[n] = l->lookahead < 128 ? (char)l->lookahead : '?';
      n++;
      l->advance(l, false);
    }
    static const struct { const char *text; uint8_t next; } words[] = {
      {"if", N_IF}, {"then", N_THEN}, {"else", N_ELSE}, {"match", N_MATCH}, {"with", N_WITH}, {"for", N_FOR},
      {"while", N_WHILE}, {"loop", N_LOOP}, {"do", N_DO}, {"let", N_LET}, {"and", N_AND}, {"in", N_IN}, {"when", N_WHEN},
      {"as", N_AS},
    };
    for (unsigned i = 0; n < 7 && i < sizeof(words) / sizeof(words[0]); i++)
      if (strcmp(word, words[i].text) == 0) return words[i].next;
    return N_WORD;
  }
  if (iswdigit(c) || c == '"') return N_OTHER;
  if (!read) l->advance(l, false);
  int32_t d = l->lookahead;
  *spaced_after = d == ' ' || d == '\t';
  switch (c) {
    case '(': case '[': case '{': return N_OPENER;
    case ')': case ']': case '}': return N_CLOSER;
    case ',': return N_COMMA;
    case ':': return d == ':' ? N_OPERATOR : N_COLON;
    case ';': return d == ';' ? N_SEMISEMI : N_SEMI;
    case '|': return d == ']' ? N_CLOSER : d == '|' || d == '>' ? N_OPERATOR : N_BAR;
    case '=': return d == '=' ? N_OPERATOR : d == '>' ? N_PUNCT : N_EQ;
    case '-': return d == '>' ? N_ARROW : N_MINUS;
    case '.': return d == '|' || d == '&' || d == '=' || d == '!' || d == '<' || d == '>' ? N_OPERATOR : N_PUNCT;
    case '\\': return N_OPENER;
    default: return N_OPERATOR;
  }
}

// Whether a line that begins so continues the entry above it.
static bool continues(uint8_t t, bool spaced, bool at_top) {
  switch (t) {
    case N_MINUS: return at_top && spaced;
    case N_IN: case N_THEN: case N_ELSE: case N_WITH: case N_AND: case N_DO: case N_WHEN: case N_AS: return true;
    case N_OPERATOR: case N_PUNCT: case N_CLOSER: case N_COMMA: case N_COLON: case N_BAR: case N_SEMI: case N_EQ: case N_ARROW:
      return true;
    default: return false;
  }
}

// Whether an open block around the innermost one has its entries in a column.
static bool entry_column(State *s, uint16_t col) {
  for (int i = s->count - 1; i >= 0; i--) {
    Frame *f = &s->frames[i];
    if (f->kind == BRACKET) return false;
    if (is_block(f)) {
      if (f->col == col) return true;
      if (!f->mid) return false;
    }
  }
  return false;
}

enum Decision { STAY, SEPARATE, END };

// What the first token of a line means for the innermost block.
static uint8_t by_column(State *s, Frame *f, uint16_t col, uint8_t t, bool spaced) {
  if (t == N_BAR && f->bar != NONE && col <= f->bar) return END;
  if (f->mid) {
    bool entry = entry_column(s, col) || col == f->in_col;
    bool cont = continues(t, spaced, col == 0 && !entry);
    bool hidden = cont ? col < f->base : col <= f->base || entry;
    if (!hidden) return STAY;
    return !cont && (col == f->col || col == f->in_col) ? SEPARATE : END;
  }
  if (col == f->in_col) return continues(t, spaced, false) ? STAY : SEPARATE;
  if (col > f->col) return STAY;
  if (col == f->col) return continues(t, spaced, false) ? STAY : SEPARATE;
  return col > f->base && (t == N_OPERATOR || t == N_MINUS) ? STAY : END;
}

// Whether a token cannot stand in an expression, so that the innermost block ends before it.
static bool ends_block(State *s, Frame *f, uint8_t t, TSLexer *l) {
  if (s->pending == t) return false;
  switch (t) {
    case N_END: case N_CLOSER: case N_COMMA: case N_COLON: case N_THEN: case N_ELSE: case N_WITH: case N_DO: case N_IN: case N_AND:
    case N_SEMISEMI: case N_ARROW:
      return true;
    case N_FOR: case N_WHILE: return f->kind == INIT;
    case N_SEMI: {
      if (f->kind != VALUE || s->count < 2) return false;
      Frame *around = NULL;
      for (int i = s->count - 2; i >= 0 && !around; i--) if (is_block(&s->frames[i])) around = &s->frames[i];
      if (!around) return false;
      if (around->mid) return true;
      while (l->lookahead == ';' || l->lookahead == ' ') l->advance(l, false);
      bool spaced;
      return next_token(l, 0, &spaced) == N_LET;
    }
    default: return false;
  }
}

static bool emit(TSLexer *l, uint16_t token) {
  l->result_symbol = token;
  return true;
}

// Closes the innermost block because of a token.
static bool closed(State *s, TSLexer *l, uint8_t t) {
  uint8_t kind = top(s)->kind;
  pop(s);
  s->pending = (kind == THEN_BLOCK && t == N_ELSE) || (kind == VALUE && (t == N_IN || t == N_AND)) ? t : 0;
  return emit(l, CLOSE);
}

// Signs that open or close constructs, after their first character. The end of the token is marked here.
static bool sign(State *s, TSLexer *l, int32_t c, const bool *valid, bool first, uint16_t col, bool spaced) {
  Frame *f = top(s);
  l->mark_end(l);
  int32_t d = l->lookahead;
  switch (c) {
    case '(': if (!valid[LPAREN]) return false; push(s, BRACKET); return emit(l, LPAREN);
    case '{': if (!valid[LBRACE]) return false; push(s, BRACKET); return emit(l, LBRACE);
    case '[':
      if (!spaced && !first && valid[IDX]) { push(s, BRACKET); return emit(l, IDX); }
      if (d == '|' && valid[LIVERSON]) { l->advance(l, false); l->mark_end(l); push(s, BRACKET); return emit(l, LIVERSON); }
      if (!valid[LBRACK]) return false;
      push(s, BRACKET);
      return emit(l, LBRACK);
    case ')': case ']': case '}': {
      uint16_t token = c == ')' ? RPAREN : c == ']' ? RBRACK : RBRACE;
      if (!valid[token] || !f || f->kind != BRACKET) return false;
      pop(s);
      return emit(l, token);
    }
    case '|':
      if (d == ']') {
        if (!valid[RIVERSON] || !f || f->kind != BRACKET) return false;
        l->advance(l, false);
        l->mark_end(l);
        pop(s);
        return emit(l, RIVERSON);
      }
      if (d == '|' || d == '>') return false;
      if (valid[ARM_BAR]) {
        if (first) s->bar = col; else if (s->bar != s->indent) s->bar = NONE;
        push(s, HEAD_ARM);
        return emit(l, ARM_BAR);
      }
      return valid[OR_BAR] && emit(l, OR_BAR);
    case '=':
      if (d == '=' || d == '>' || !valid[EQ] || !f) return false;
      if (f->kind == HEAD_LET) pop(s); else if (f->kind != HEAD_LOOP) return false;
      return emit(l, EQ);
    case '-':
      if (d != '>' || !f) return false;
      l->advance(l, false);
      l->mark_end(l);
      if (f->kind == HEAD_FOR && valid[ARROW_FOR]) { pop(s); return emit(l, ARROW_FOR); }
      if (f->kind == HEAD_ARM && valid[ARROW_ARM]) { pop(s); return emit(l, ARROW_ARM); }
      return false;
    default: return false;
  }
}

static bool blank(int32_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool word(State *s, TSLexer *l, const bool *valid, uint8_t t) {
  Frame *f = top(s);
  uint8_t kind = f ? f->kind : NONE & 0xFF;
  uint16_t token;
  uint8_t opens = 0;
  bool closes = false;
  switch (t) {
    case N_IF: token = IF; opens = HEAD_IF; break;
    case N_THEN: token = THEN; closes = kind == HEAD_IF; break;
    case N_ELSE: token = ELSE; break;
    case N_MATCH: token = MATCH; opens = HEAD_MATCH; break;
    case N_WITH: token = WITH; closes = kind == HEAD_MATCH; break;
    case N_FOR: token = valid[LOOP_FOR] && kind == HEAD_LOOP ? LOOP_FOR : FOR; opens = token == FOR ? HEAD_FOR : 0; break;
    case N_LOOP: token = LOOP; opens = HEAD_LOOP; break;
    case N_DO: token = DO; closes = kind == HEAD_LOOP; break;
    case N_LET: token = LET; opens = HEAD_LET; break;
    case N_AND: token = valid[AND_TYPE] ? AND_TYPE : AND; opens = token == AND ? HEAD_LET : 0; break;
    case N_IN: token = IN; break;
    default: return false;
  }
  if (!valid[token]) return false;
  l->mark_end(l);
  if (closes) pop(s);
  if (opens) push(s, opens);
  if (s->pending == t) s->pending = 0;
  if (t == N_IN && is_block(top(s))) {
    // Lines in the column of the body are entries beside it.
    while (blank(l->lookahead)) l->advance(l, false);
    uint16_t col = l->get_column(l);
    if (col != top(s)->col) top(s)->in_col = col;
  }
  return emit(l, token);
}

static bool opens_block(const bool *valid, uint16_t *token, uint8_t *kind) {
  static const struct { uint16_t token; uint8_t kind; } all[] = {
    {OPEN, BLOCK}, {OPEN_VALUE, VALUE}, {OPEN_THEN, THEN_BLOCK}, {OPEN_ARM, ARM}, {OPEN_INIT, INIT},
  };
  for (unsigned i = 0; i < 5; i++) if (valid[all[i].token]) { *token = all[i].token; *kind = all[i].kind; return true; }
  return false;
}

// The text of a string up to an escape, an interpolation or its end.
static bool text(State *s, TSLexer *l, const bool *valid) {
  bool some = false, interpolated = valid[INTERPOLATED_TEXT];
  for (; !l->eof(l) && l->lookahead != '"' && l->lookahead != '\\'; some = true) {
    bool brace = interpolated && l->lookahead == '{';
    l->mark_end(l);
    l->advance(l, false);
    if (!brace) continue;
    if (l->lookahead == '{') { l->advance(l, false); continue; }
    if (some) return emit(l, INTERPOLATED_TEXT);
    l->mark_end(l);
    push(s, BRACKET);
    return emit(l, LBRACE);
  }
  l->mark_end(l);
  return some && emit(l, interpolated ? INTERPOLATED_TEXT : TEXT);
}

bool tree_sitter_adl_external_scanner_scan(void *p, TSLexer *l, const bool *valid) {
  State *s = p;
  if (valid[ERROR_SENTINEL]) return false;
  if (valid[TEXT] || valid[INTERPOLATED_TEXT]) return text(s, l, valid);
  bool line = s->indent == NONE, spaced = line;
  for (; blank(l->lookahead); l->advance(l, true)) {
    line |= l->lookahead == '\n';
    spaced = true;
  }
  // Tokens without text stand here.
  l->mark_end(l);
  uint16_t indent = l->get_column(l), col = indent;
  bool first = line || col == s->indent, comment = false;
  int32_t read = 0;
  // Line comments are passed: what follows them decides.
  while (l->lookahead == '-') {
    l->advance(l, false);
    if (l->lookahead != '-') { read = '-'; break; }
    while (!l->eof(l) && l->lookahead != '\n') l->advance(l, false);
    comment = true;
    for (; blank(l->lookahead); l->advance(l, false)) first |= l->lookahead == '\n';
    col = l->get_column(l);
  }
  if (!read && l->lookahead == '(') {
    l->advance(l, false);
    read = '(';
    if (l->lookahead == '*' && !comment) {
      if (line) { s->indent = indent; s->bar = NONE; return emit(l, LINE); }
      l->mark_end(l);
      l->advance(l, false);
      // A comment is left to the grammar; `(*)` begins with a bracket.
      if (l->lookahead != ')' || !valid[LPAREN]) return false;
      push(s, BRACKET);
      return emit(l, LPAREN);
    }
  }
  uint16_t token;
  uint8_t kind;
  if (opens_block(valid, &token, &kind)) {
    if (s->count < MAX_FRAMES) {
      uint16_t bar = top(s) ? top(s)->bar : NONE;
      if (kind == ARM && s->bar != NONE) bar = s->bar;
      s->frames[s->count++] = (Frame){kind, !first, col, s->indent == NONE ? 0 : s->indent, bar, NONE};
    }
    if (line) { s->indent = indent; s->bar = NONE; }
    return emit(l, token);
  }
  int32_t c = read ? read : l->lookahead;
  bool is_word = !read && (iswalpha(c) || c == '_' || c > 0x2070), after = false;
  bool is_sign = read || (!is_word && !iswdigit(c) && c != '"' && !l->eof(l));
  uint8_t t = next_token(l, read, &after);
  Frame *f = top(s);
  if (t == N_LET && valid[OPEN_LET] && !valid[LET]) {
    uint16_t base = f && f->kind == BRACKET ? 0 : s->indent;
    if (s->count < MAX_FRAMES) s->frames[s->count++] = (Frame){BLOCK, !first, col, base, f ? f->bar : NONE, NONE};
    if (line) { s->indent = indent; s->bar = NONE; }
    return emit(l, OPEN_LET);
  }
  if (is_block(f)) {
    uint8_t d = t == N_END ? END : first ? by_column(s, f, col, t, after) : STAY;
    if (d == STAY && t == N_BAR && !first && !valid[ARM_BAR] && !valid[OR_BAR]) d = END;
    if (d == SEPARATE && valid[SEP]) {
      if (f->col == col) f->in_col = NONE;
      if (line) { s->indent = indent; s->bar = NONE; }
      return emit(l, SEP);
    }
    // The end of a sign is where it was read, also behind this.
    if (d == STAY && ends_block(s, f, t, l)) d = END;
    if (d == END && valid[CLOSE]) {
      if (line) { s->indent = indent; s->bar = NONE; }
      return closed(s, l, t);
    }
  } else if (!f && first && col == 0 && valid[ITEM_SEP] && t != N_END && !continues(t, after, true)) {
    if (line) { s->indent = indent; s->bar = NONE; }
    return emit(l, ITEM_SEP);
  }
  if (line) { s->indent = indent; s->bar = NONE; return emit(l, LINE); }
  if (comment || t == N_SEMI) return false;
  if (is_word) return word(s, l, valid, t);
  return is_sign && sign(s, l, c, valid, first, col, spaced);
}
