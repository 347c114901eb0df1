setlocal commentstring=--\ %s comments=:--\|,:--,sr:(*,ex:*)
setlocal shiftwidth=2 expandtab iskeyword+='
setlocal makeprg=adl\ check\ % errorformat=%E%trror[%*[^]]]:\ %m,%C\ %#-->\ %f:%l:%c,%-G%.%#
