package corpus

import (
	"math"
	"strings"
)

// DrugLikeness returns the quantitative estimate of drug-likeness of a molecule (QED, with mean
// weights; Bickerton et al. 2012), a number in (0, 1). It is the weighted geometric mean of the
// desirabilities of eight properties. The error states why the string is not a molecule.
//
// Whether a ring is aromatic is decided as in [PolarSurface], for each ring separately, so that
// some aromatic fused rings are missed. For that reason 4 % of the strings of QM9 differ from
// RDKit's value by more than 0.001.
func DrugLikeness(text string) (float64, error) {
	m, err := parse(text)
	if err != nil {
		return 0, err
	}
	values := properties(m)
	sum, weights := 0.0, 0.0
	for k, d := range desirabilities {
		sum += float64(d.weight * math.Log(d.at(values[k])))
		weights += d.weight
	}
	return math.Exp(sum / weights), nil
}

// properties returns the eight properties of [desirabilities].
func properties(m *molecule) (values [8]float64) {
	g := newGraph(m, false)
	values = [...]float64{weight(m), partition(m), count(g, acceptors), count(g, donors), polarSurface(m), count(g, rotatable), 0, 0}
	for _, ring := range g.cycles {
		if m.aromatic(ring) {
			values[6]++
		}
	}
	for _, p := range alerts {
		if p.in(g) {
			values[7]++
		}
	}
	return values
}

// desirability is the double sigmoid of a property x,
//
//	(a + b σ((x − c + d/2)/e) (1 − σ((x − c − d/2)/f))) / most, σ(z) = 1/(1 + e^−z),
//
// and the weight of its logarithm.
type desirability struct{ a, b, c, d, e, f, most, weight float64 }

// desirabilities holds the parameters of Bickerton et al. 2012 for the molecular weight, log P,
// hydrogen bond acceptors and donors, polar surface, rotatable bonds, aromatic rings and alerts.
var desirabilities = [...]desirability{
	{2.817065973, 392.5754953, 290.7489764, 2.419764353, 49.22325677, 65.37051707, 104.9805561, 0.66},
	{3.172690585, 137.8624751, 2.534937431, 4.581497897, 0.822739154, 0.576295591, 131.3186604, 0.46},
	{2.948620388, 160.4605972, 3.615294657, 4.435986202, 0.290141953, 1.300669958, 148.7763046, 0.05},
	{1.618662227, 1010.051101, 0.985094388, 0.000000001, 0.713820843, 0.920922555, 258.1632616, 0.61},
	{1.876861559, 125.2232657, 62.90773554, 87.83366614, 12.01999824, 28.51324732, 104.5686167, 0.06},
	{0.010000000, 272.4121427, 2.558379970, 1.565547684, 1.271567166, 2.758063707, 105.4420403, 0.65},
	{3.217788970, 957.7374108, 2.274627939, 0.000000001, 1.317690384, 0.375760881, 312.3372610, 0.48},
	{0.010000000, 1199.094025, -0.09002883, 0.000000001, 0.185904477, 0.875193782, 417.7253140, 0.95},
}

// at returns the desirability of a value.
func (d desirability) at(x float64) float64 {
	logistic := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	return (d.a + float64(d.b*logistic((x-d.c+d.d/2)/d.e)*logistic(-(x-d.c-d.d/2)/d.f))) / d.most
}

// weights holds atomic weights in g/mol.
var weights = map[string]float64{
	"H": 1.008, "B": 10.81, "C": 12.011, "N": 14.007, "O": 15.999, "F": 18.998, "P": 30.974, "S": 32.06,
	"Cl": 35.45, "Br": 79.904, "I": 126.904,
}

// weight returns the molecular weight in g/mol.
func weight(m *molecule) float64 {
	sum := 0.0
	for i, label := range m.label {
		sum += weights[element(label)] + float64(float64(m.hydrogens(i))*weights["H"])
	}
	return sum
}

// count returns the number of matches of some patterns.
func count(g *graph, all []*pattern) float64 {
	n := 0
	for _, p := range all {
		n += p.count(g)
	}
	return float64(n)
}

// partition returns the logarithm of the partition coefficient of octanol and water (Wildman and
// Crippen 1999): a sum over the atoms, hydrogens among them, of the number of the first type that
// an atom has.
func partition(m *molecule) float64 {
	g, sum := newGraph(m, true), 0.0
	for i := range g.m.label {
	types:
		for _, t := range atomTypes {
			for _, p := range t.patterns {
				if p.at(g, i) {
					sum += t.logP
					break types
				}
			}
		}
	}
	return sum
}

// patterns parses the patterns of a text.
func patterns(text string) (all []*pattern) {
	for s := range strings.FieldsSeq(text) {
		all = append(all, smarts(s))
	}
	return all
}

// The patterns of the implementation of QED in RDKit.
var (
	acceptors = patterns(`[oH0;X2] [OH1;X2;v2] [OH0;X2;v2] [OH0;X1;v2] [O-;X1] [SH0;X2;v2] [SH0;X1;v2] [S-;X1]
		[nH0;X2] [NH0;X1;v3] [$([N;+0;X3;v3]);!$(N[C,S]=O)]`)
	donors = patterns("[N!H0v3,N!H0+v4,OH1+0,SH1+0,nH1+0]")

	// Single bonds outside rings between two atoms that are neither terminal nor in a triple bond
	// nor the centre of CF3, CCl3, CBr3 or C(CH3)3, except those of amides and esters.
	rotatable = patterns(`[!$(*#*)!D1!$(C(F)(F)F)!$(C(Cl)(Cl)Cl)!$(C(Br)(Br)Br)!$(C([CH3])([CH3])[CH3])` +
		`!$([CD3](=[N,O,S])-!@[#7,O,S!D1])!$([#7,O,S!D1]-!@[CD3]=[N,O,S])!$([CD3](=[N+])-!@[#7!D1])!$([#7!D1]-!@[CD3]=[N+])]` +
		`-!@[!$(*#*)!D1!$(C(F)(F)F)!$(C(Cl)(Cl)Cl)!$(C(Br)(Br)Br)!$(C([CH3])([CH3])[CH3])]`)

	// Structural alerts for the elements that the parser reads.
	alerts = patterns(`
*1[O,S,N]*1 [S,C](=[O,S])[F,Br,Cl,I] [CX4][Cl,Br,I] [#6]S(=O)(=O)O[#6] [$([CH]),$(CC)]#CC(=O)[#6]
[$([CH]),$(CC)]#CC(=O)O[#6] n[OH] [$([CH]),$(CC)]#CS(=O)(=O)[#6] C=C(C=O)C=O n1c([F,Cl,Br,I])cccc1
[CH1](=O) [#8][#8] [C;!R]=[N;!R] [N!R]=[N!R] [#6](=O)[#6](=O) [#16][#16] [#7][NH2] C(=O)N[NH2]
[#6]=S [$([CH2]),$([CH][CX4]),$(C([CX4])[CX4])]=[$([CH2]),$([CH][CX4]),$(C([CX4])[CX4])]
C1(=[O,N])C=CC(=[O,N])C=C1 C1(=[O,N])C(=[O,N])C=CC=C1 a21aa3a(aa1aaaa2)aaaa3
a31a(a2a(aa1)aaaa2)aaaa3 a1aa2a3a(a1)A=AA=A3=AA=A2 c1cc([NH2])ccc1 B
I OS(=O)(=O)[O-] [N+](=O)[O-] C(=O)N[OH] C1NC(=O)NC(=O)1 [SH] [S-]
c1ccc([Cl,Br,I,F])c([Cl,Br,I,F])c1[Cl,Br,I,F] c1cc([Cl,Br,I,F])cc([Cl,Br,I,F])c1[Cl,Br,I,F]
[CR1]1[CR1][CR1][CR1][CR1][CR1][CR1]1 [CR1]1[CR1][CR1]cc[CR1][CR1]1
[CR2]1[CR2][CR2][CR2][CR2][CR2][CR2][CR2]1 [CR2]1[CR2][CR2]cc[CR2][CR2][CR2]1
[CH2R2]1N[CH2R2][CH2R2][CH2R2][CH2R2][CH2R2]1 [CH2R2]1N[CH2R2][CH2R2][CH2R2][CH2R2][CH2R2][CH2R2]1
C#C [OR2,NR2]@[CR2]@[CR2]@[OR2,NR2]@[CR2]@[CR2]@[OR2,NR2] [$([N+R]),$([n+R]),$([N+]=C)][O-]
[#6]=N[OH] [#6]=NOC=O [#6](=O)[CX4,CR0X3,O][#6](=O) c1ccc2c(c1)ccc(=O)o2 [O+,o+,S+,s+] N=C=O
[NX3,NX4][F,Cl,Br,I] c1ccccc1OC(=O)[#6] [CR0]=[CR0][CR0]=[CR0] [C+,c+,C-,c-] N=[N+]=[N-]
C12C(NC(N1)=O)CSC2 c1c([OH])c([OH,NH2,NH])ccc1 P [N,O,S]C#N C=C=O [SX2]O
[CR0](c1ccccc1)(c2ccccc2)(c3ccccc3) O1CCCCC1OC2CCC3CCCCC3C2 N=[CR0][N,n,O,S]
[cR2]1[cR2][cR2]([Nv3X3,Nv4X4])[cR2][cR2][cR2]1[cR2]2[cR2][cR2][cR2]([Nv3X3,Nv4X4])[cR2][cR2]2
C=[C!r]C#N [cR2]1[cR2]c([N+0X3R0,nX3R0])c([N+0X3R0,nX3R0])[cR2][cR2]1
[cR2]1[cR2]c([N+0X3R0,nX3R0])[cR2]c([N+0X3R0,nX3R0])[cR2]1
[cR2]1[cR2]c([N+0X3R0,nX3R0])[cR2][cR2]c1([N+0X3R0,nX3R0]) [OH]c1ccc([OH,NH2,NH])cc1 c1ccccc1OC(=O)O
[SX2H0][N] c12ccccc1(SC(S)=N2) c12ccccc1(SC(=S)N2) c1nnnn1C=O s1c(S)nnc1NC=O S1C=CSC1=S C(=O)Onnn
OS(=O)(=O)C(F)(F)F N#CC[OH] N#CC(=O) S(=O)(=O)C#N N[CH2]C#N C1(=O)NCC1 S(=O)(=O)[O-,OH]
NC[F,Cl,Br,I] C=[C!r]O [NX2+0]=[O+0] [OR0,NR0][OR0,NR0] C(=O)O[C,H1].C(=O)O[C,H1].C(=O)O[C,H1]
[CX2R0][NX3R0] c1ccccc1[C;!R]=[C;!R]c2ccccc2 [NX3R0,NX4R0,OR0,SX2R0][CX4][NX3R0,NX4R0,OR0,SX2R0]
[s,S,c,C,n,N,o,O]~[n+,N+](~[s,S,c,C,n,N,o,O])(~[s,S,c,C,n,N,o,O])~[s,S,c,C,n,N,o,O]
[s,S,c,C,n,N,o,O]~[nX3+,NX3+](~[s,S,c,C,n,N])~[s,S,c,C,n,N] [*]=[N+]=[*] [SX3](=O)[O-,OH] N#N
F.F.F.F [R0;D2][R0;D2][R0;D2][R0;D2] [cR,CR]~C(=O)NC(=O)~[cR,CR] C=!@CC=[O,S]
[#6,#8,#16][#6](=O)O[#6] c[C;R0](=[O,S])[#6] c[SX2][C;!R] C=C=C c1nc([F,Cl,Br,I,S])ncc1
c1ncnc([F,Cl,Br,I,S])c1 c1nc(c2c(n1)nc(n2)[F,Cl,Br,I]) [#6]S(=O)(=O)c1ccc(cc1)F`)
)

// atomType is an atom type of Wildman and Crippen 1999: its contribution to log P, and patterns
// whose first atom is of the type.
type atomType struct {
	logP     float64
	patterns []*pattern
}

// atomTypes is the authors' table for the elements that the parser reads, in the order in which
// types are tried. Their contributions to the refractivity are left out.
var atomTypes = table([]struct {
	logP float64
	text string
}{
	{0.1441, "[CH4] [CH3]C [CH2](C)C"},
	{0, "[CH](C)(C)C [C](C)(C)(C)C"},
	{-0.2035, "[CH3][N,O,P,S,F,Cl,Br,I] [CH2X4]([N,O,P,S,F,Cl,Br,I])[A;!#1]"},
	{-0.2051, "[CH1X4]([N,O,P,S,F,Cl,Br,I])([A;!#1])[A;!#1] [CH0X4]([N,O,P,S,F,Cl,Br,I])([A;!#1])([A;!#1])[A;!#1]"},
	{-0.2783, "[C]=[!C;A;!#1]"},
	{0.1551, "[CH2]=C [CH1](=C)[A;!#1] [CH0](=C)([A;!#1])[A;!#1] [C](=C)=C"},
	{0.0017, "[CX2]#[A;!#1]"},
	{0.08452, "[CH3]c"},
	{-0.1444, "[CH3]a"},
	{-0.0516, "[CH2X4]a"},
	{0.1193, "[CHX4]a"},
	{-0.0967, "[CH0X4]a"},
	{-0.5443, "[cH0]-[A;!C;!N;!O;!S;!F;!Cl;!Br;!I;!#1]"},
	{0, "[c][#9]"},
	{0.245, "[c][#17]"},
	{0.198, "[c][#35]"},
	{0, "[c][#53]"},
	{0.1581, "[cH]"},
	{0.2955, "[c](:a)(:a):a"},
	{0.2713, "[c](:a)(:a)-a"},
	{0.136, "[c](:a)(:a)-C"},
	{0.4619, "[c](:a)(:a)-N"},
	{0.5437, "[c](:a)(:a)-O"},
	{0.1893, "[c](:a)(:a)-S"},
	{-0.8186, "[c](:a)(:a)=[C,N,O]"},
	{0.264, "[C](=C)(a)[A;!#1] [C](=C)(c)a [CH1](=C)a [C]=c"},
	{0.2148, "[CX4][A;!C;!N;!O;!P;!S;!F;!Cl;!Br;!I;!#1]"},
	{0.08129, "[#6]"},
	{0.123, "[#1][#6,#1]"},
	{-0.2677, "[#1]O[CX4,c] [#1]O[!C;!N;!O;!S] [#1][!#6;!#7;!#8]"},
	{0.2142, "[#1][#7] [#1]O[#7]"},
	{0.298, "[#1]OC=[#6,#7,O,S] [#1]O[O,S]"},
	{0.1125, "[#1]"},
	{-1.019, "[NH2+0][A;!#1]"},
	{-0.7096, "[NH+0]([A;!#1])[A;!#1]"},
	{-1.027, "[NH2+0]a"},
	{-0.5188, "[NH1+0]([!#1;A,a])a"},
	{0.08387, "[NH+0]=[!#1;A,a]"},
	{0.1836, "[N+0](=[!#1;A,a])[!#1;A,a]"},
	{-0.3187, "[N+0]([A;!#1])([A;!#1])[A;!#1]"},
	{-0.4458, "[N+0](a)([!#1;A,a])[A;!#1] [N+0](a)(a)a"},
	{0.01508, "[N+0]#[A;!#1]"},
	{-1.95, "[NH3,NH2,NH;+,+2,+3]"},
	{-0.3239, "[n+0]"},
	{-1.119, "[n;+,+2,+3]"},
	{-0.3396, "[NH0;+,+2,+3]([A;!#1])([A;!#1])([A;!#1])[A;!#1] [NH0;+,+2,+3](=[A;!#1])([A;!#1])[!#1;A,a] [NH0;+,+2,+3](=[#6])=[#7]"},
	{0.2887, "[N;+,+2,+3]#[A;!#1] [N;-,-2,-3] [N;+,+2,+3](=[N;-,-2,-3])=N"},
	{-0.4806, "[#7]"},
	{0.1552, "[o]"},
	{-0.2893, "[OH,OH2]"},
	{-0.0684, "[O]([A;!#1])[A;!#1]"},
	{-0.4195, "[O](a)[!#1;A,a]"},
	{0.0335, "[O]=[#7,#8] [OX1;-,-2,-3][#7]"},
	{-0.3339, "[OX1;-,-2,-2][#16] [O;-0]=[#16;-0]"},
	{-1.326, "[O-]C(=O)"},
	{-1.189, "[OX1;-,-2,-3][!#1;!N;!S]"},
	{0.1788, "[O]=c"},
	{-0.1526, "[O]=[CH]C [O]=C(C)([A;!#1]) [O]=[CH][N,O] [O]=[CH2] [O]=[CX2]=O"},
	{0.1129, "[O]=[CH]c [O]=C([C,c])[a;!#1] [O]=C(c)[A;!#1]"},
	{0.4833, "[O]=C([!#1;!#6])[!#1;!#6]"},
	{-0.1188, "[#8]"},
	{0.4202, "[#9-0]"},
	{0.6895, "[#17-0]"},
	{0.8456, "[#35-0]"},
	{0.8857, "[#53-0]"},
	{-2.996, "[#9,#17,#35,#53;-] [#53;+,+2,+3]"},
	{0.8612, "[#15]"},
	{-0.0024, "[S;-,-2,-3,-4,+1,+2,+3,+5,+6] [S-0]=[N,O,P,S]"},
	{0.6482, "[S;A]"},
	{0.6237, "[s;a]"},
	{-0.3808, "B"},
})

// table parses the patterns of atom types.
func table(rows []struct {
	logP float64
	text string
}) (all []atomType) {
	for _, r := range rows {
		all = append(all, atomType{r.logP, patterns(r.text)})
	}
	return all
}
