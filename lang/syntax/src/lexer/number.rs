//! Numbers: `3`, `1_000_000`, `0xff`, `2.5`, `1e-3`, `1.5f32`.

use super::{Lexer, is_name_continue};
use crate::errors::lexical;
use crate::token::Tok;

impl Lexer<'_> {
    pub(super) fn number(&mut self) {
        let (lo, col) = (self.pos, self.col);
        if let Some(radix) = self.radix() {
            return self.radix_number(lo, col, radix);
        }
        self.digits();
        let mut real = self.fraction();
        real |= self.exponent();
        let digits: String = self.text[lo..self.pos].chars().filter(|c| *c != '_').collect();
        if self.rest().starts_with("f32") && !self.rest()[3..].starts_with(is_name_continue) {
            for _ in 0..3 {
                self.bump();
            }
            let value = digits.parse::<f32>().unwrap_or(f32::INFINITY);
            if value.is_infinite() {
                self.error(lexical::float_too_large(self.span(lo)));
            }
            return self.push(Tok::F32(value), lo, col);
        }
        self.letters_after_number(lo);
        let tok = if real { self.float(lo, &digits) } else { self.int(lo, &digits, 10) };
        self.push(tok, lo, col);
    }

    fn radix(&self) -> Option<u32> {
        let mut chars = self.rest().chars();
        let zero = chars.next() == Some('0');
        let radix = match chars.next() {
            Some('x' | 'X') => 16,
            Some('o' | 'O') => 8,
            Some('b' | 'B') => 2,
            _ => return None,
        };
        (zero && chars.next().is_some_and(|c| c.is_digit(radix))).then_some(radix)
    }

    fn radix_number(&mut self, lo: usize, col: u32, radix: u32) {
        self.bump();
        self.bump();
        let start = self.pos;
        self.bump_while(|c| c.is_digit(radix) || c == '_');
        let digits: String = self.text[start..self.pos].chars().filter(|c| *c != '_').collect();
        self.letters_after_number(lo);
        let tok = self.int(lo, &digits, radix);
        self.push(tok, lo, col);
    }

    fn digits(&mut self) {
        self.bump_while(|c| c.is_ascii_digit() || c == '_');
    }

    /// A fraction as in `.5`, or a lone `.` as in `1.` if the dot has no other meaning. After a dot the number is a
    /// tuple component (`t.0.1`), which has no fraction.
    fn fraction(&mut self) -> bool {
        let mut chars = self.rest().chars();
        let after_dot = self.out.tokens.last().is_some_and(|t| t.tok == Tok::P(crate::token::P::Dot)) && !self.space;
        if chars.next() != Some('.') || after_dot {
            return false;
        }
        let next = chars.next();
        if next.is_some_and(|c| c == '.' || (is_name_continue(c) && !c.is_ascii_digit() && !self.exponent_at(1))) {
            return false;
        }
        self.bump();
        self.digits();
        true
    }

    fn exponent_at(&self, skip: usize) -> bool {
        let mut chars = self.rest().chars().skip(skip);
        if !matches!(chars.next(), Some('e' | 'E')) {
            return false;
        }
        match chars.next() {
            Some('+' | '-') => chars.next().is_some_and(|c| c.is_ascii_digit()),
            Some(c) => c.is_ascii_digit(),
            None => false,
        }
    }

    fn exponent(&mut self) -> bool {
        if !self.exponent_at(0) {
            return false;
        }
        self.bump();
        self.bump();
        self.digits();
        true
    }

    /// `3x`, `1.5f64`: reports one error and drops the letters.
    fn letters_after_number(&mut self, lo: usize) {
        if !self.peek_char().is_some_and(is_name_continue) {
            return;
        }
        let letters = self.pos;
        self.bump_while(is_name_continue);
        let (number, suffix) = (&self.text[lo..letters], &self.text[letters..self.pos]);
        self.error(lexical::bad_number(self.span(lo), number, suffix));
    }

    fn float(&mut self, lo: usize, digits: &str) -> Tok {
        let value = digits.parse::<f64>().unwrap_or(f64::INFINITY);
        if value.is_infinite() {
            self.error(lexical::float_too_large(self.span(lo)));
        }
        Tok::Float(value)
    }

    fn int(&mut self, lo: usize, digits: &str, radix: u32) -> Tok {
        const LIMIT: u64 = 1 << 63;
        match u64::from_str_radix(digits, radix) {
            Ok(value) if value <= LIMIT => Tok::Int(value),
            _ => {
                self.error(lexical::int_too_large(self.span(lo)));
                Tok::Int(0)
            }
        }
    }
}
