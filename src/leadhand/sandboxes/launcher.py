"""The launcher's program for each processor, built from `launcher.c` by scripts/build-launcher.sh.

It is so small that it is sent into the sandbox as it is: no compiler, package or privilege is needed there.
"""

from __future__ import annotations

import base64
import zlib

from leadhand.core.errors import UsageError

SOURCE = "2aaf27ad53252e6ba0956cb28dc795cdf254a1d3da88c3c3d24751545469c8ba"
"""SHA-256 of the launcher.c that these were built from."""

_X86_64 = (
    "c-o~?O=uHA6rN3*wrLBS5|JKrSiv4F?m<XVB!k`h0_&mJ>cxxw0YUI!Hqb(UqHCbzl8YjE(1RczJbCbtmXf6DPpXHaMO5geXp4yp"
    "B8t#MWqmWd+gMvf@WIaPy!U<In|W_$O4EA-l0<w9kkf>(o{@xDCp`bF;4TDxal|D^0|^Rjlfb*?^ZYsN@gh+-N6f?ZZ5hLj<limg"
    "&A>i^x%suq|LH|~fez6A0boDRgVhANo=OB*kFo*Q*+?dSEG=h7C6W$<xztf(0c2YPF?C%o1a6g#cDTCUVpflXQ-=E>E!b6c4RYhk"
    "wx+IWYAJt2;@RHHA;^}-+VZC`VQ~@%ImF`v66e15OdXeG^Lj3QbWE<pYfn)}&OX7B&hcWnT%E1L(73XrvkjfSL^3Y6A?p}zd4&@~"
    "82Bv{Cl)2*WzyL<umYIRh-Tu%XkJFYQ?kE<S#GwsVE$u^ZcTK6m5v~n&OSzBp7(f`@)}es4;;slLz=n?&I*<9Eo#|KIeQn?)sma9"
    "P>LonRb`f7gK=|g3C!&sV*^u8UW4w1Bs$o8UGB9}MDMKfqF2v#Z%v-i+2_1eKV|2KWbV1*sd1sQ5Nbl9sRlc$t|g^6_A=i|w@u|c"
    "i*_TO6UVeJDb?CA?sHEGfV~q1ICHx}PUiX~Y-8*6%_7Pt*=xH-&BYOP2R#NCDu!_o$DzwN_!QHoAI-bVGEObL$f8@mHl5*_@GcDP"
    "-UXelxE<yl1JjX=L!wIsiMXwD!!8)*cuaJw5D);jec^iherW0oZ<7ysNFkn>xC{A{q5>0${sLCNf)~NPPg4T1DnO(wbtPq7H!cs7"
    "E@NcWAYFs06!~v!B}BaG#(nRZ?0L_=Nq_L$@oUD<hw+kgn+YDwh>`tz!2|Z?^AD51=l=zLp)Wi"
)
_AARCH64 = (
    "c-o~@Ur19?82`>acW%yM69mIWyYnG1VowgXC$CZ=;zP<Fdh<^z>!F9-3dx{jJ@iK(yjci^I;01^NF`X|OU`<U41%i#Jrui^X&Vvt"
    "<U+Z9=k8AD^dacL$G7iye!uU}Ip^-$sixBcA&^@FyZ|0O1=);c3-1+oD2N4-CxZ<{lWRBm*_G4f{3OldXATLbcUZjU)mUc{{QGiS"
    "K1o5T0JyhKK^1{%NlH|m3hD}_D#aN4Sx(T_kK29oQ>(~X!ToL2==huO17+HVVT^3|ElldvW?}-GWM^91Fe<kDUQVqcmup-gX9kPW"
    "yIcd{kTV42Q0**SY!@I5q8yS02&CIU;W?_%`bF%goN1phe>;&gU#Sc0m#A?M)0Pp-)zS|!EndR3_lW6kIa7>SJ;5F@f6@kl<T+3x"
    "c0Nm%&vl|T8-vZ~3zmK!^|vs$Bn%zM{f={Z0XEWcP~K7q=X5i?u7}O>nR7i&BbM~CIj;yCZ2(~(Vo$7|>(PAH*-hll;Un2|8$}Fz"
    "selAD`$SOSsytjxgop1CTi7zfx;I;EnAgC%n17b{JA$zfc6;EQJG?hMGdzooWP@jVP2E)Whs#S2+-q~OyHyQLyHT?{Bk%VnKDU&8"
    "ymAddaf(nw3UXe;oc#bpzO7ni;(T{7fjwTgLx6~^MUNZ{Hr^*?sfZLzLeW4SVJ)v+psY~4N*oa4GlGL@oq2Qf{Eu-qZ#e|<I|#ip"
    "jDSx9WeG7Ib?aCY%r_C=b01ze%z$Bp`JMdy!+ml37v7O===OsYEmHl&wm1*Y^faEoL5kC<k@3nOv{YT>dBHg_0nSB-gTE8DFK-+*"
    "Jnta-<G@;eqb7+t8wm{Xcg^2I70#I8_muZNkt;1A_8ui3m)FD&qdnR(49VI*f_8#`&xi#%P*>_66~;)zm(Qg<EJtfXdxQJm1an^+"
    "6~`#}qmgK=C)VBp{#aLU4E$Y@*6yD63tiyvh(_UmR|)SOt!Ur>PIjH7d--C4zRc1KR=i1N%V*=Z0=}al_E^|X8F!uO&h8W<d-$Y4"
    "Px7^SE2ozZ;ODQuXH0|b"
)
_MACHINES = {"x86_64": _X86_64, "amd64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}


def launcher(machine: str) -> bytes:
    """The program for a processor as `uname -m` or the Docker Engine names it. Raises `UsageError` for others."""
    if machine not in _MACHINES:
        raise UsageError(f"sandboxes run on x86-64 and aarch64; this processor is {machine}")
    return zlib.decompress(base64.b85decode(_MACHINES[machine]))
