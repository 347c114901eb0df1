autocmd BufRead,BufNewFile *.adl setfiletype adl
