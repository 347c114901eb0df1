;;; adl-mode.el --- Editing adl -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "29.1"))
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Colours, comments and indentation for adl, and its language server by Eglot.

;;; Code:

(require 'compile)

(defconst adl-keywords
  '("if" "then" "else" "match" "with" "when" "for" "loop" "while" "do"
    "let" "rec" "and" "in" "as" "fun" "lin" "type" "import")
  "Reserved words.")

(defconst adl-constants '("true" "false")
  "Reserved words that are values.")

(defvar adl-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?- "_ 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\( "()1nb" table)
    (modify-syntax-entry ?\) ")(4nb" table)
    (modify-syntax-entry ?* ". 23bn" table)
    (modify-syntax-entry ?\[ "(]" table)
    (modify-syntax-entry ?\] ")[" table)
    (modify-syntax-entry ?\{ "(}" table)
    (modify-syntax-entry ?\} "){" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (modify-syntax-entry ?' "w" table)
    (modify-syntax-entry ?_ "w" table)
    table)
  "Syntax of adl.")

(defconst adl-font-lock
  `((,(regexp-opt adl-keywords 'words) . font-lock-keyword-face)
    (,(regexp-opt adl-constants 'words) . font-lock-constant-face)
    ("^\\(test\\|bench\\)\\s-+\"" 1 font-lock-keyword-face)
    ("\\<type\\s-+\\(alias\\)\\>" 1 font-lock-keyword-face)
    ("\\<\\(?:let\\|and\\)\\s-+\\(?:rec\\s-+\\)?\\([[:lower:]_][[:word:]']*\\)" 1 font-lock-function-name-face)
    ("\\<[[:upper:]][[:word:]']*" . font-lock-type-face)
    ("\\<[0-9][0-9_]*\\(?:\\.[0-9_]*\\)?\\(?:[eE][-+]?[0-9]+\\)?\\(?:f32\\)?" . font-lock-constant-face))
  "Colours of adl.")

(defun adl-indent-line ()
  "Indent by the line before: further after what opens a block."
  (interactive)
  (let* ((before (save-excursion
                   (if (re-search-backward "^[ \t]*[^ \t\n]" nil t)
                       (+ (current-indentation)
                          (if (looking-at ".*\\(?:=\\|->\\|\\<then\\|\\<else\\|\\<do\\|[(\\[{]\\)[ \t]*$") 2 0))
                     0)))
         (column (if (save-excursion (back-to-indentation) (looking-at "[])}]")) (max 0 (- before 2)) before)))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

;;;###autoload
(define-derived-mode adl-mode prog-mode "adl"
  "Major mode for adl."
  (setq-local comment-start "-- ")
  (setq-local comment-start-skip "--|?[ \t]*")
  (setq-local comment-end "")
  (setq-local indent-line-function #'adl-indent-line)
  (setq-local indent-tabs-mode nil)
  (setq-local font-lock-defaults '(adl-font-lock)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.adl\\'" . adl-mode))

(add-to-list 'compilation-error-regexp-alist '("^ *--> \\(.*\\):\\([0-9]+\\):\\([0-9]+\\)$" 1 2 3))

(with-eval-after-load 'eglot
  (defvar eglot-server-programs)
  (add-to-list 'eglot-server-programs '(adl-mode . ("adl" "lsp"))))

(provide 'adl-mode)

;;; adl-mode.el ends here
